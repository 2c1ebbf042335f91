"""Chapter 4: how many items each user should see."""

from sureness_reproduction.list_size.studies import STUDIES as STUDIES
