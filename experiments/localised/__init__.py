"""Randomly localised calibration (RLCP) on top of the goals of widthwise."""
