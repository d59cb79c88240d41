#!/usr/bin/env python3
"""A machine is an EC2 instance of an instant fleet of one; its tag Name is the machine's name."""
import json
import os
import subprocess
import sys


def aws(*words):
    text = subprocess.run(["aws", "ec2", *words, "--output", "json"], check=True,
                          capture_output=True, text=True).stdout  # fmt: skip
    return json.loads(text or "{}")


request = json.load(sys.stdin)
if request["request"] == "release":
    found = aws("describe-instances", "--filters", "Name=tag:Name,Values=" + request["machine"],
                "Name=instance-state-name,Values=pending,running")  # fmt: skip
    ids = [one["InstanceId"] for group in found["Reservations"] for one in group["Instances"]]
    if ids:
        aws("terminate-instances", "--instance-ids", *ids)
    print("{}")
    sys.exit()
market = "spot" if request["market"] == "spot" else "on-demand"
templates = [{
    "LaunchTemplateSpecification": {
        "LaunchTemplateName": os.environ["UKEMI_LAUNCH_TEMPLATE"], "Version": "$Latest"},
    "Overrides": [{"AvailabilityZone": request["zone"]}],
}]  # fmt: skip
tags = [{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": request["machine"]}]}]
fleet = aws("create-fleet", "--type", "instant", "--launch-template-configs", json.dumps(templates),
            "--target-capacity-specification",
            "TotalTargetCapacity=1,DefaultTargetCapacityType=" + market,
            "--tag-specifications", json.dumps(tags))  # fmt: skip
if fleet.get("Instances"):
    print("{}")
else:
    errors = fleet.get("Errors") or [{"ErrorCode": "no instance"}]
    print(json.dumps({"refused": errors[0]["ErrorCode"]}))
