// public_datasets.cpp — one entry a repository. Facts as of the commits named.
#include "traces/public_datasets.hpp"

#include <array>

namespace ukemi::traces {

namespace {

constexpr std::array datasets{
    PublicDataset{"skynomad",
                  "GCP 16 × H100 launch probes in 13 zones (Oct 2025); AWS V100 samples in 9 zones "
                  "with prices (Feb-Apr 2023), 4 and 16 V100 (Aug 2023); list prices",
                  "andylizf/skynomad-artifact", "62b9aaa", "Apache-2.0",
                  "research/data/: h100_16_runs, real/availability, v100_spot_prices.json (with "
                  "the zone's samples as --times), spot_price_cache",
                  "skynomad_probe_round_json skynomad_probe_counts skynomad_csv "
                  "skynomad_prices_json skypilot_json gcp_list_price_json",
                  "ukemi import --join h100_16_runs/*.json --out d"},
    PublicDataset{"bamboo",
                  "AWS p3 and g4dn autoscaling groups by node; GCP V100 and A100 groups "
                  "(Dec 2021); AWS p2 and g4dn (Nov 2020)",
                  "uclasystem/bamboo", "8080929", "MIT",
                  "p3-trace.csv, g4dn-trace.csv, gcloud, aws_2020_doc",
                  "bamboo_events bamboo_counts bamboo_step_list",
                  "ukemi import p3-trace.csv gcloud/*.txt --out d"},
    PublicDataset{"skypilot-spot-strategy",
                  "AWS us-west-2 V100 and K80, one and eight, three campaigns (Oct 2022 - Jan "
                  "2023); 1 = unavailable",
                  "Michaelvll/skypilot-spot-strategy", "1c36973", "none stated",
                  "one .txt a zone and type", "skypilot_strategy_txt",
                  "ukemi import *.txt --out d"},
    PublicDataset{"skypilot-spot-traces",
                  "held instances: AWS V100 and r5 (Apr 2023), GCP c3-88; also most of SkyNomad's "
                  "AWS samples",
                  "skypilot-org/spot-traces", "221da1a", "none stated",
                  "availability and preemption; constant prices of 0.918 there are placeholders",
                  "skypilot_json", "ukemi import preemption/*/*/*.json --out d"},
    PublicDataset{"spothedge", "GCP A100, groups of 4 in 6 zones, a day and a third",
                  "MaoZiming/spothedge_ae", "df02263", "none stated", "data/GCP1", "skypilot_json",
                  "ukemi import data/GCP1/*.json --out d"},
    PublicDataset{"parcae", "segments of Bamboo's p3 group, high and low availability and churn",
                  "JF-D/Parcae", "efedee7", "MIT", "a folder a model",
                  "parcae_segment_txt parcae_intervals_json bamboo_events",
                  "ukemi import bert/trace_*.txt --out d"},
    PublicDataset{"training-on-a-dime",
                  "AWS GPU spot prices in 6 regions (Dec 2019 - Mar 2020); AWS and GCP instances "
                  "held; GCP launch tries; Azure prices a day",
                  "stanford-futuredata/training_on_a_dime", "85f6595", "MIT",
                  "aws/cost (all pulls of a region are one record), */availability, "
                  "gcp/spin_up_and_shut_down (all files are one record), azure/cost",
                  "aws_price_history_json survival_log launch_log azure_daily_prices_csv",
                  "ukemi import --join aws/cost/us-west-2/*.json --out d"},
    PublicDataset{"spot-price-model", "AWS g2.2xlarge prices of the bidding era (Mar-Aug 2015)",
                  "prateek-s/spot-price-model", "6f09f3d", "none stated",
                  "pickles upstream: write them as timestamp_utc,price_usd_per_h",
                  "stamped_price_csv", "ukemi import *.csv --out d"},
    PublicDataset{"spot-price-estimator", "AWS g2.8xlarge prices of the bidding era (Feb-Apr 2016)",
                  "hshazly/Amazon-Spot-Price-Estimator", "4c1215f", "none stated",
                  "one .csv a type", "aws_price_history_csv", "ukemi import *.csv --out d"},
    PublicDataset{"gpu-price-tracker", "GPU prices of many providers (Oct-Nov 2025), every 40 min",
                  "tugot17/gpu-price-tracker", "718a831", "MIT", "one .jsonl a GPU type",
                  "gpu_price_tracker_jsonl", "ukemi import *.jsonl --out d"},
    PublicDataset{"goog-preemption", "lifetimes of 1442 preemptible GCP machines (Feb-Apr 2019)",
                  "kadupitiya/goog-preemption-data", "b22f181", "Apache-2.0",
                  "data/data.json upstream: write it as insert_utc,machine_type,zone,"
                  "lifetime_s,preempted",
                  "lifetimes_csv", "ukemi import lifetimes.csv --out d"},
    PublicDataset{"spot-advisor", "bands of interruption and savings, AWS regions × types (2025)",
                  "alexei-led/spotinfo", "05e9331", "Apache-2.0",
                  "public/spot/data/spot-advisor-data.json", "aws_spot_advisor_json",
                  "ukemi import spot-advisor-data.json --out d"},
    PublicDataset{"aws-gpu", "AWS on-demand prices of GPU instances by region (Nov 2025)",
                  "tsaol/aws-gpu", "77fcd9f", "none stated",
                  "write them as region,instance_type,on_demand_usd_per_h",
                  "price_list_csv price_list_json", "ukemi import prices.csv --out d"},
    PublicDataset{"your own", "prices of the last 90 days, from an AWS account", "", "", "yours",
                  "aws ec2 describe-spot-price-history --instance-types p3.2xlarge "
                  "--product-descriptions Linux/UNIX > prices.json",
                  "aws_price_history_json aws_price_history_text",
                  "ukemi import prices.json --out d"},
    PublicDataset{"pollux",
                  "learning curves with gradient statistics of six models at 6 to 8 batches, and "
                  "step times on up to 64 T4",
                  "petuum/adaptdl", "c793c70", "Apache-2.0",
                  "branch osdi21-artifact, simulator/traces: copy it to DATA/pollux/traces", "",
                  "ukemi fit --learning DATA"},
    PublicDataset{"sia", "the same models' step times on five clusters of A100, V100 and RTX",
                  "siasosp23/artifacts", "aaf7a0d", "none stated",
                  "its traces: copy them to DATA/sia/traces", "", "ukemi fit --learning DATA"},
    PublicDataset{"zeus", "epochs to a target by batch, six tasks, 5 to 10 seeds each",
                  "ml-energy/zeus", "75a8b93", "Apache-2.0",
                  "summary_train.csv: copy it to DATA/zeus", "", "ukemi fit --learning DATA"},
    PublicDataset{"nccl-tests-cluster", "nccl-tests of collectives on up to 10 machines of 8 H100",
                  "xxrjun/nccl-tests-cluster", "455de4f", "Apache-2.0", "logs of nccl-tests", "",
                  "ukemi import nccl-tests *.log --out d"},
    PublicDataset{"alcf-nccl-tests", "all-reduce on up to 540 machines of 4 A100 (Polaris, Sirius)",
                  "argonne-lcf/alcf-nccl-tests", "385be33", "none stated",
                  "results_*/*/*/all_reduce_output.dat.*", "",
                  "ukemi import nccl-tests all_reduce_output.dat.* --out d"},
    PublicDataset{"vtrain", "all-reduce inside one machine of V100 and of A100, 1 MiB to 1 GiB",
                  "VIA-Research/vTrain", "f8dda84", "MIT", "tables of nccl-tests", "",
                  "ukemi import nccl-tests v100_8.csv --out d"},
};

}  // namespace

std::span<const PublicDataset> all_public_datasets() { return datasets; }

}  // namespace ukemi::traces
