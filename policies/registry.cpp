// registry.cpp — the list of policies. To add one: write its file, add its two lines here.
#include "policies/registry.hpp"

#include <array>

namespace ukemi {

using Made = std::unique_ptr<Policy>;
Made make_on_demand(ConfigReader& parameters);
Made make_spot_only(ConfigReader& parameters);
Made make_greedy(ConfigReader& parameters);
Made make_time_sliced(ConfigReader& parameters);
Made make_uniform_progress(ConfigReader& parameters);
Made make_rc_threshold(ConfigReader& parameters);
Made make_ideal_no_overhead(ConfigReader& parameters);
Made make_follow_capacity(ConfigReader& parameters);
Made make_periodic_checkpoint(ConfigReader& parameters);
Made make_young_checkpoint(ConfigReader& parameters);
Made make_daly_checkpoint(ConfigReader& parameters);
Made make_checkpoint_on_notice(ConfigReader& parameters);
Made make_noise_scale_resize(ConfigReader& parameters);
Made make_bid(ConfigReader& parameters);
Made make_cheapest_zone(ConfigReader& parameters);
Made make_spread_zones(ConfigReader& parameters);
Made make_hazard_checkpoint(ConfigReader& parameters);
Made make_cheapest_region_net(ConfigReader& parameters);
Made make_throughput_resize(ConfigReader& parameters);
Made make_utilisation_resize(ConfigReader& parameters);
Made make_interference_switch(ConfigReader& parameters);
Made make_gain_resize(ConfigReader& parameters);
Made make_scheduled_resize(ConfigReader& parameters);
Made make_goodput_resize(ConfigReader& parameters);
Made make_constant_batch(ConfigReader& parameters);
Made make_batch_schedule(ConfigReader& parameters);
Made make_grow_batch(ConfigReader& parameters);
Made make_noise_scale_batch(ConfigReader& parameters);
Made make_goodput_batch(ConfigReader& parameters);
Made make_ada_scale(ConfigReader& parameters);
Made make_scaled_rate(ConfigReader& parameters);
Made make_accordion_batch(ConfigReader& parameters);
Made make_dynamic_batch(ConfigReader& parameters);
Made make_noise_doubling_batch(ConfigReader& parameters);
Made make_ada_sgd(ConfigReader& parameters);
Made make_accordion(ConfigReader& parameters);
Made make_adaptive_codec(ConfigReader& parameters);
Made make_capped_batch(ConfigReader& parameters);
Made make_replace_stragglers(ConfigReader& parameters);
Made make_tune_learners(ConfigReader& parameters);
Made make_topology_by_size(ConfigReader& parameters);
Made make_synchronisation_by_size(ConfigReader& parameters);
Made make_measured_collective(ConfigReader& parameters);

namespace {

constexpr bool oracle = true;
constexpr bool deadline = true;
constexpr std::string_view late = "Can't Be Late (Wu et al., NSDI'24)";
constexpr std::array table{
    PolicyEntry{"on_demand", "", "on-demand instances only", "baseline", !oracle, !deadline,
                make_on_demand},
    PolicyEntry{"spot_only", "", "spot instances only; waits when there are none", "baseline",
                !oracle, !deadline, make_spot_only},
    PolicyEntry{"greedy", "", "spot until only on-demand meets the deadline", late, !oracle,
                deadline, make_greedy},
    PolicyEntry{"time_sliced", "", "greedy inside equal slices of the deadline", late, !oracle,
                deadline, make_time_sliced},
    PolicyEntry{"uniform_progress", "", "keeps to the straight line to the deadline", late, !oracle,
                deadline, make_uniform_progress},
    PolicyEntry{"rc_threshold", "", "uniform_progress without hysteresis", late, !oracle, deadline,
                make_rc_threshold},
    PolicyEntry{"ideal_no_overhead", "", "ORACLE: knows all spot time to come", late, oracle,
                deadline, make_ideal_no_overhead},
    PolicyEntry{"follow_capacity", "", "as many instances as the zones carry", "elastic baseline",
                !oracle, !deadline, make_follow_capacity},
    PolicyEntry{"periodic_checkpoint", "periodic", "a checkpoint every `interval`", "baseline",
                !oracle, !deadline, make_periodic_checkpoint},
    PolicyEntry{"young_checkpoint", "young", "checkpoint interval by Young's rule",
                "Young (CACM 1974)", !oracle, !deadline, make_young_checkpoint},
    PolicyEntry{"daly_checkpoint", "daly", "checkpoint interval by Daly's rule", "Daly (FGCS 2006)",
                !oracle, !deadline, make_daly_checkpoint},
    PolicyEntry{"checkpoint_on_notice", "on_notice", "a checkpoint when a loss is announced",
                "baseline", !oracle, !deadline, make_checkpoint_on_notice},
    PolicyEntry{"noise_scale_resize", "", "a worker more whenever the noise scale rose",
                "KungFu (Mai et al., OSDI'20)", !oracle, !deadline, make_noise_scale_resize},
    PolicyEntry{"bid", "", "a fixed bid, a share of on-demand or a quantile of prices seen",
                "baseline", !oracle, !deadline, make_bid},
    PolicyEntry{"cheapest_zone", "", "the whole fleet where a unit of work costs least",
                "baseline; cost per work as in Proteus (EuroSys'17)", !oracle, !deadline,
                make_cheapest_zone},
    PolicyEntry{"spread_zones", "", "the fleet evenly over the zones that have capacity",
                "baseline; as Bamboo (NSDI'23) does", !oracle, !deadline, make_spread_zones},
    PolicyEntry{"hazard_checkpoint", "hazard", "checkpoint interval from the machines' ages",
                "Daly (FGCS 2006) on occurrence/exposure rates", !oracle, !deadline,
                make_hazard_checkpoint},
    PolicyEntry{"cheapest_region_net", "", "a deadline rule, wherever it is cheapest",
                "SkyNomad's safety net over «Can't Be Late»", !oracle, deadline,
                make_cheapest_region_net},
    PolicyEntry{"throughput_resize", "", "workers are added while each brings enough",
                "Or et al. (MLSys'20)", !oracle, !deadline, make_throughput_resize},
    PolicyEntry{"utilisation_resize", "", "a machine more while all are busy", "baseline", !oracle,
                !deadline, make_utilisation_resize, "grow_above"},
    PolicyEntry{"interference_switch", "", "another collective when most see theirs slowed",
                "KungFu (Mai et al., OSDI'20)", !oracle, !deadline, make_interference_switch},
    PolicyEntry{"gain_resize", "", "a worker more while the last one was worth it",
                "KungFu (Mai et al., OSDI'20)", !oracle, !deadline, make_gain_resize},
    PolicyEntry{"scheduled_resize", "", "sizes for numbers of steps, as written down",
                "KungFu (Mai et al., OSDI'20)", !oracle, !deadline, make_scheduled_resize},
    PolicyEntry{"goodput_resize", "", "scales out while each worker brings enough progress",
                "Pollux (Qiao et al., OSDI'21)", !oracle, !deadline, make_goodput_resize},
    PolicyEntry{"constant_batch", "", "one batch from the first step to the last", "baseline",
                !oracle, !deadline, make_constant_batch, "batch"},
    PolicyEntry{"batch_schedule", "", "batches by a timetable of epochs or steps",
                "KungFu (Mai et al., OSDI'20)", !oracle, !deadline, make_batch_schedule,
                "schedule"},
    PolicyEntry{"grow_batch", "", "a larger batch where others lower the rate",
                "Smith et al., ICLR'18", !oracle, !deadline, make_grow_batch},
    PolicyEntry{"noise_scale_batch", "", "the batch follows the gradient noise scale",
                "McCandlish et al. (2018)", !oracle, !deadline, make_noise_scale_batch},
    PolicyEntry{"goodput_batch", "", "the batch with the most useful samples a second",
                "Pollux (Qiao et al., OSDI'21)", !oracle, !deadline, make_goodput_batch},
    PolicyEntry{"ada_scale", "", "the learning rate that the batch gains",
                "AdaScale (Johnson et al., ICML'20)", !oracle, !deadline, make_ada_scale},
    PolicyEntry{"scaled_rate", "", "a learning rate by the batch, with warm-up and drops",
                "Goyal et al. (2017)", !oracle, !deadline, make_scaled_rate},
    PolicyEntry{"accordion_batch", "", "a small batch while the gradient's norm changes",
                "Accordion (Agarwal et al., MLSys'21)", !oracle, !deadline, make_accordion_batch},
    PolicyEntry{"dynamic_batch", "", "batch and learning rate follow the workers",
                "Lin et al. (2019)", !oracle, !deadline, make_dynamic_batch},
    PolicyEntry{"noise_doubling_batch", "", "a batch twice as large when gradients became noisier",
                "KungFu (Mai et al., OSDI'20)", !oracle, !deadline, make_noise_doubling_batch},
    PolicyEntry{"ada_sgd", "", "averages models first, and gradients later",
                "KungFu (Mai et al., OSDI'20)", !oracle, !deadline, make_ada_sgd},
    PolicyEntry{"accordion", "", "little compression while the gradient's norm changes",
                "Accordion (Agarwal et al., MLSys'21)", !oracle, !deadline, make_accordion},
    PolicyEntry{"adaptive_codec", "", "tries codecs, and takes one only where it pays",
                "baseline; «On the Utility of Gradient Compression» (2021)", !oracle, !deadline,
                make_adaptive_codec},
    PolicyEntry{"capped_batch", "", "each worker's batch, up to a limit for all",
                "Or et al. (MLSys'20)", !oracle, !deadline, make_capped_batch},
    PolicyEntry{"replace_stragglers", "", "another machine for each that is slower than the rest",
                "Or et al. (MLSys'20)", !oracle, !deadline, make_replace_stragglers},
    PolicyEntry{"tune_learners", "", "a learner more on every GPU while that brings throughput",
                "Crossbow (Koliousis et al., VLDB'19)", !oracle, !deadline, make_tune_learners},
    PolicyEntry{"topology_by_size", "", "the collective that suits so many workers",
                "KungFu (Mai et al., OSDI'20)", !oracle, !deadline, make_topology_by_size},
    PolicyEntry{"synchronisation_by_size", "", "averages models where workers are many",
                "KungFu (Mai et al., OSDI'20)", !oracle, !deadline, make_synchronisation_by_size},
    PolicyEntry{"measured_collective", "", "tries collectives, and takes the one links carry best",
                "baseline; Crossbow (Koliousis et al., VLDB'19)", !oracle, !deadline,
                make_measured_collective},
};

}  // namespace

std::span<const PolicyEntry> all_policies() { return table; }

const PolicyEntry* find_policy(std::string_view name) {
    for (const PolicyEntry& entry : all_policies()) {
        if (entry.name == name || (!entry.alias.empty() && entry.alias == name)) return &entry;
    }
    return nullptr;
}

std::unique_ptr<Policy> make_policy(const PolicyEntry& entry, ConfigReader& parameters) {
    auto policy = entry.make(parameters);
    parameters.finish();
    INVARIANT(policy->name() == entry.name);
    return policy;
}

std::string no_such_policy(std::string_view name) {
    std::vector<std::string_view> known;
    std::string list;
    for (const PolicyEntry& each : all_policies()) {
        known.push_back(each.name);
        if (!list.empty()) list += ", ";
        list += each.name;
    }
    const std::string nearest = did_you_mean(name, known);
    return "no policy \"" + std::string(name) + "\"" +
           (nearest.empty() ? "; there is " + list : nearest);
}

}  // namespace ukemi
