#!/usr/bin/env python3
"""Prints what changed along the histories of every target, the newest last: changes.py http://127.0.0.1:8420"""

import json
import sys
import urllib.parse
import urllib.request

server = sys.argv[1].rstrip("/")


def get(path):
    with urllib.request.urlopen(f"{server}/api/v1/{path}") as answer:
        return json.load(answer)


for target in get("targets"):
    history = get(f"targets/{urllib.parse.quote(target['target'])}/history")
    order = {version["id"]: place for place, version in enumerate(history["versions"])}
    found = [
        (order[change["between"]["at"]["id"]], series["name"], change)
        for series in history["series"]
        for change in series["changes"]
    ]
    for place, name, change in sorted(found, key=lambda one: one[:2]):
        percent = change["percent"]
        size = "" if percent is None else f" {percent:+.2f} %"
        print(f"{target['target']} {history['versions'][place]['name']}: {name}{size} {change['direction']}")
