// public_datasets.cpp — one entry a repository. Facts as of the commits named.
#include "traces/public_datasets.hpp"

#include <array>

namespace ukemi {

namespace {

constexpr std::array datasets{
    PublicDataset{"skynomad",
                  "GCP 16 × H100 launch probes in 13 zones (Oct 2025); AWS V100 samples in 9 zones "
                  "with prices (Feb-Apr 2023), 4 and 16 V100 (Aug 2023); list prices",
                  "andylizf/skynomad-artifact", "62b9aaa", "Apache-2.0",
                  "skynomad_probe_round_json skynomad_probe_counts skynomad_csv "
                  "skynomad_prices_json skypilot_json gcp_list_price_json",
                  "research/data/: h100_16_runs (import all rounds at once), "
                  "real/availability, v100_spot_prices.json (import with --times), "
                  "spot_price_cache"},
    PublicDataset{"bamboo",
                  "AWS p3 and g4dn autoscaling groups by node; GCP V100 and A100 groups "
                  "(Dec 2021); AWS p2 and g4dn (Nov 2020)",
                  "uclasystem/bamboo", "8080929", "MIT",
                  "bamboo_events bamboo_counts bamboo_step_list",
                  "p3-trace.csv, g4dn-trace.csv, "
                  "gcloud, aws_2020_doc"},
    PublicDataset{"skypilot-spot-strategy",
                  "AWS us-west-2 V100 and K80, one and eight, three "
                  "campaigns (Oct 2022 - Jan 2023); 1 = unavailable",
                  "Michaelvll/skypilot-spot-strategy", "1c36973", "none stated",
                  "skypilot_strategy_txt", "one .txt a zone and type"},
    PublicDataset{"skypilot-spot-traces",
                  "held instances: AWS V100 and r5 (Apr 2023), GCP c3-88; "
                  "also most of SkyNomad's AWS samples",
                  "skypilot-org/spot-traces", "221da1a", "none stated", "skypilot_json",
                  "availability and preemption; constant prices of 0.918 there are placeholders"},
    PublicDataset{"spothedge", "GCP A100, groups of 4 in 6 zones, a day and a third",
                  "MaoZiming/spothedge_ae", "df02263", "none stated", "skypilot_json", "data/GCP1"},
    PublicDataset{"parcae", "segments of Bamboo's p3 group, high and low availability and churn",
                  "JF-D/Parcae", "efedee7", "MIT",
                  "parcae_segment_txt parcae_intervals_json bamboo_events", "a folder a model"},
    PublicDataset{"training-on-a-dime",
                  "AWS GPU spot prices in 6 regions (Dec 2019 - Mar 2020); "
                  "AWS and GCP instances held; GCP launch tries; Azure "
                  "prices a day",
                  "stanford-futuredata/training_on_a_dime", "85f6595", "MIT",
                  "aws_price_history_json survival_log launch_log azure_daily_prices_csv",
                  "aws/cost (import all pulls of a region at once), */availability, "
                  "gcp/spin_up_and_shut_down (all at once), azure/cost"},
    PublicDataset{"spot-price-model", "AWS g2.2xlarge prices of the bidding era (Mar-Aug 2015)",
                  "prateek-s/spot-price-model", "6f09f3d", "none stated", "stamped_price_csv",
                  "pickles upstream: write them as timestamp_utc,price_usd_per_h"},
    PublicDataset{"spot-price-estimator", "AWS g2.8xlarge prices of the bidding era (Feb-Apr 2016)",
                  "hshazly/Amazon-Spot-Price-Estimator", "4c1215f", "none stated",
                  "aws_price_history_csv", "one .csv a type"},
    PublicDataset{"gpu-price-tracker", "GPU prices of many providers (Oct-Nov 2025), every 40 min",
                  "tugot17/gpu-price-tracker", "718a831", "MIT", "gpu_price_tracker_jsonl",
                  "one .jsonl a GPU type"},
    PublicDataset{"goog-preemption", "lifetimes of 1442 preemptible GCP machines (Feb-Apr 2019)",
                  "kadupitiya/goog-preemption-data", "b22f181", "Apache-2.0", "lifetimes_csv",
                  "data/data.json upstream: write it as insert_utc,machine_type,zone,"
                  "lifetime_s,preempted"},
    PublicDataset{"spot-advisor", "bands of interruption and savings, AWS regions × types (2025)",
                  "alexei-led/spotinfo", "05e9331", "Apache-2.0", "aws_spot_advisor_json",
                  "public/spot/data/spot-advisor-data.json"},
    PublicDataset{"aws-gpu", "AWS on-demand prices of GPU instances by region (Nov 2025)",
                  "tsaol/aws-gpu", "77fcd9f", "none stated", "price_list_csv price_list_json",
                  "write them as region,instance_type,on_demand_usd_per_h"},
    PublicDataset{"your own", "prices of the last 90 days, from an AWS account", "", "", "yours",
                  "aws_price_history_json aws_price_history_text",
                  "aws ec2 describe-spot-price-history --instance-types p3.2xlarge "
                  "--product-descriptions Linux/UNIX > prices.json"},
};

}  // namespace

std::span<const PublicDataset> all_public_datasets() { return datasets; }

}  // namespace ukemi
