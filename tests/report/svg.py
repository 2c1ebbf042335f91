"""Figures as text."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from sureness.report import figure_svg


def svg_of(axes):
    """The parsed SVG of the figure that axes belong to."""
    root = ElementTree.fromstring(figure_svg(axes.figure).replace("xlink:href", "href"))
    assert root.tag == "svg"
    return root
