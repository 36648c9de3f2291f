"""The JSON that tools print, whatever they advise before or after it."""

import json
from typing import Any

from .system import System

_LVM = {
    "vg": "vg_name,vg_uuid,vg_tags,vg_extent_size,vg_extent_count,vg_free_count,vg_missing_pv_count",
    "pv": "pv_name,pv_major,pv_minor,pv_uuid,vg_name,vg_uuid,pe_start,pv_size,dev_size,pv_missing",
    "lv": "lv_name,lv_uuid,lv_tags,lv_size,lv_attr,lv_active",
    "pvseg": "pvseg_start",
    "seg": "lv_uuid,segtype,seg_start_pe,seg_size_pe,seg_pe_ranges",
}


def json_object(text: str) -> dict[str, Any]:
    """The JSON object in what a tool says; an empty one where there is none."""
    start, end = text.find("{"), text.rfind("}")
    try:
        value = json.loads(text[start : end + 1]) if start >= 0 else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def lvm(system: System) -> tuple[list[dict[str, Any]], str]:
    """LVM's full report, a part a volume group, in one process; and what went wrong, if anything did."""
    words = ["lvm", "fullreport", "--all", "--reportformat=json", "--units=b", "--nosuffix"]
    for section, columns in _LVM.items():
        words += ["--configreport", section, "-o", columns]
    said = system.runner.run(words, check=False)
    report = json_object(said.stdout).get("report", [])
    error = f"lvm fullreport ended with {said.returncode}: {said.stderr.strip()}" if said.returncode else ""
    return (report if isinstance(report, list) else []), error
