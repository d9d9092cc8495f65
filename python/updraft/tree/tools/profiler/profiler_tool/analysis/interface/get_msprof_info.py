#!/usr/bin/env python3
"""What a profile says of the host that it was made on, as JSON: MindSpore asks where a card's tools have this script.

usage: get_msprof_info.py -dir PROF_*/host
"""

import argparse
import configparser
import json
import os
import sys

# The first driver of which profiles are exported as a whole, in MindSpore's eyes. There is no driver here, and msprof exports them so.
EXPORTS_WHOLE = 467473


def counter_rate(folder):
    """Millions a second of the counter that frameworks stamp their records with; None where start and end do not tell."""
    moments = []
    for name in ("host_start.log", "host_end.log"):
        log = configparser.ConfigParser()
        log.read(os.path.join(folder, name))
        try:
            moments.append([int(log["Host"][key]) for key in ("cntvct", "clock_monotonic_raw")])
        except (KeyError, ValueError):
            return None
    (first, begin), (last, end) = moments
    return "%.6f" % (1000 * (last - first) / (end - begin)) if end > begin and last > first else None


def main():
    parser = argparse.ArgumentParser(description="tells of the host of a profile")
    parser.add_argument("-dir", "--collection-dir", dest="folder", required=True)
    folder = parser.parse_args().folder
    path = os.path.join(folder, "info.json")
    rate = counter_rate(folder)
    try:
        with open(path, encoding="utf-8") as file:
            info = json.load(file)
    except (OSError, ValueError) as error:
        print(json.dumps({"status": 1, "info": "%s: %s" % (path, error), "data": {}}))
        return 1
    host = {"cpu_num": info.get("cpuCores"), "host_computer_name": info.get("hostname"), "host_operating_system": info.get("OS"),
            "cpu_info": [{"CPU ID": cpu.get("Id"), "Frequency": rate or cpu.get("Frequency"), "Logical_CPU_Count": cpu.get("Logical_CPU_Count")}
                         for cpu in info.get("CPU", [])]}
    versions = {"collection_version": info.get("version"), "drv_version": EXPORTS_WHOLE}
    print(json.dumps({"status": 0, "info": "", "data": {"host_info": host, "version_info": versions}}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
