"""Repeat the experiments of "On training locally adaptive CP" (Colombo, COPA 2023): `python -m experiments.paper`."""
