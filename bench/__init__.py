"""Measurements that are printed, never asserted: ``make bench``."""
