"""Prints the commands of aicli, one a line, as its own parser knows them; aliases are left out."""

import argparse
import sys


def leaves(parser, words):
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups:
        print(" ".join(words))
    for group in groups:
        told = set()
        for name, child in group.choices.items():
            if id(child) not in told:
                told.add(id(child))
                leaves(child, words + [name])


def instead_of_parsing(parser, *_):
    leaves(parser, [])
    sys.exit(0)


argparse.ArgumentParser.parse_args = instead_of_parsing
argparse.ArgumentParser.parse_known_args = instead_of_parsing
sys.argv = ["aicli", "list", "cluster"]

from ailib.cli import cli  # noqa: E402

cli()
