"""Source, calibrator and list-size policy as one object that recommends, is saved, and serves."""
