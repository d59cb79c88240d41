// market_parameters.cpp — the markets that can be generated, and the records they were set to.
//
// The targets were computed from the recorded series named with each set (their ids are those of
// the public traces in one common form: AWS from SkyNomad's release, Bamboo's p3 group, GCP H100
// launch probes, g2 prices of 2015) with statistics_of; the values here were then searched for so
// that long generated series meet them. tests/traces/generator_test.cpp holds the bands.
#include <array>

#include "traces/generator.hpp"

namespace ukemi::traces {

namespace {

// After 2017 the price of p3.2xlarge stands near 0.300 of its 3.06 USD/h and moves twice a day by a
// fifth of a percent: price/aws-v100x1-2023feb-us-west-2a, mean 0.945, 0.918 to 1.046.
constexpr PriceParameters p3_price_2023{
    .usd_floor = 0.918,
    .usd_mean = 0.9375,
    .usd_max = 1.1,
    .changes_per_day = 2.4,
    .step_share_mean = 0.0023,
    .spikes_per_day = 0,
    .spike_h_mean = 0,
    .usd_spike_min = 0,
    .usd_spike_mean = 0,
};

const std::array<MarketParameters, 6> markets{{
    {
        .name = "v100-1-good",
        .summary = "one V100, plentiful: as aws-v100x1-2023feb-us-west-2a (mean 0.883, 0.144 "
                   "losses/h, median run 1.03 h)",
        .capacity = 1,
        .sampling = whole_seconds(195),
        .has_losses = true,
        .quiet = {.short_share = 0.53, .short_h_mean = 0.45, .long_h_mean = 12.6},
        .total_loss_share = 1,
        .burst_share_mean = 1,
        .outage = {.short_share = 0.67, .short_h_mean = 0.32, .long_h_mean = 1.7},
        .full_refill_share = 1,
        .refill_step_mean = 1,
        .refill_gap_h_mean = 1,
        .price = p3_price_2023,
    },
    {
        .name = "v100-1-scarce",
        .summary = "one V100, scarce: as aws-v100x1-2023feb-us-east-1a (mean 0.167, 0.231 "
                   "losses/h, median run 0.33 h)",
        .capacity = 1,
        .sampling = whole_seconds(195),
        .has_losses = true,
        .quiet = {.short_share = 0.68, .short_h_mean = 0.3, .long_h_mean = 1.5},
        .total_loss_share = 1,
        .burst_share_mean = 1,
        .outage = {.short_share = 0.61, .short_h_mean = 0.35, .long_h_mean = 8.5},
        .full_refill_share = 1,
        .refill_step_mean = 1,
        .refill_gap_h_mean = 1,
        // price/aws-v100x1-2023feb-us-east-1a: mean 1.654, 1.443 to 1.846, 3.9 changes/day
        .price = PriceParameters{.usd_floor = 0.918,
                                 .usd_mean = 1.654,
                                 .usd_max = 3.06,
                                 .changes_per_day = 3.9,
                                 .step_share_mean = 0.0053,
                                 .spikes_per_day = 0,
                                 .spike_h_mean = 0,
                                 .usd_spike_min = 0,
                                 .usd_spike_mean = 0},
    },
    {
        .name = "v100-16-burst",
        .summary = "a group of 16 V100, mostly lost at once: as aws-v100-16node-us-west-2c (mean "
                   "0.427, 0.312 losses/h of 11.1, 72 % total, median run 0.42 h)",
        .capacity = 16,
        .sampling = minutes(5),
        .has_losses = true,
        .quiet = {.short_share = 0.78, .short_h_mean = 0.26, .long_h_mean = 5.3},
        .total_loss_share = 0.69,
        .burst_share_mean = 0.6,
        .outage = {.short_share = 0.63, .short_h_mean = 1.0, .long_h_mean = 4.6},
        .full_refill_share = 0.81,
        .refill_step_mean = 3,
        .refill_gap_h_mean = 0.56,
        .price = p3_price_2023,
    },
    {
        .name = "p3-64-group",
        .summary = "an autoscaling group of 64 p3 that refills all the time: as aws-bamboo-p3, "
                   "scaled from its 32 (mean 0.75, 6.94 losses/h of 6.6 % of the group, no "
                   "total ones)",
        .capacity = 64,
        .sampling = minutes(1),
        .has_losses = true,
        .quiet = {.short_share = 0.26, .short_h_mean = 0.1, .long_h_mean = 0.15},
        .total_loss_share = 0,
        .burst_share_mean = 0.087,
        .outage = {.short_share = 0.57, .short_h_mean = 0.086, .long_h_mean = 0.14},
        .full_refill_share = 0.02,
        .refill_step_mean = 6.5,
        .refill_gap_h_mean = 0.21,
        .price = p3_price_2023,
    },
    {
        .name = "h100-16-launch",
        .summary = "how many of 16 H100 would launch: as gcp-h100-us-central1-c (mean 0.792, 1.04 "
                   "losses/h of 5.6, 24 % total, median run 0.83 h)",
        .capacity = 16,
        .sampling = minutes(10),
        .has_losses = true,
        .quiet = {.short_share = 0.73, .short_h_mean = 0.16, .long_h_mean = 2.45},
        .total_loss_share = 0.15,
        .burst_share_mean = 0.38,
        .outage = {.short_share = 0.61, .short_h_mean = 0.16, .long_h_mean = 0.35},
        .full_refill_share = 0.56,
        .refill_step_mean = 1.2,
        .refill_gap_h_mean = 0.081,
        .price =
            PriceParameters{.usd_floor = 2.3724,
                            .usd_mean = 2.3724,
                            .usd_max = 2.3724,
                            .changes_per_day = 0,  // a list price: an eighth of a3-highgpu-8g's
                            .step_share_mean = 0,
                            .spikes_per_day = 0,
                            .spike_h_mean = 0,
                            .usd_spike_min = 0,
                            .usd_spike_mean = 0},
    },
    {
        .name = "g2-bidding",
        .summary = "the price as the only danger, before 2017: as aws2015-g2.2xlarge-us-east-1a "
                   "(mean 0.303 USD/h, 6.5 % of the time above on-demand 0.65, 1.4 jumps/day)",
        .capacity = 16,
        .sampling = minutes(5),
        .has_losses = false,
        .quiet = {.short_share = 0, .short_h_mean = 0, .long_h_mean = 0},
        .total_loss_share = 0,
        .burst_share_mean = 0,
        .outage = {.short_share = 0, .short_h_mean = 0, .long_h_mean = 0},
        .full_refill_share = 0,
        .refill_step_mean = 1,
        .refill_gap_h_mean = 0,
        .price = PriceParameters{.usd_floor = 0.0641,
                                 .usd_mean = 0.08,
                                 .usd_max = 6.5,  // ten times on-demand: the cap of that time
                                 .changes_per_day = 145,
                                 .step_share_mean = 0.03,
                                 .spikes_per_day = 1.5,
                                 .spike_h_mean = 1.1,
                                 .usd_spike_min = 0.65,
                                 .usd_spike_mean = 3.6},
    },
}};

}  // namespace

std::span<const MarketParameters> all_market_parameters() { return markets; }

}  // namespace ukemi::traces
