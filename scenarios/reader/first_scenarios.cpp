// first_scenarios.cpp — what each of them says. Each runs as it is, in seconds.
#include "scenarios/reader/first_scenarios.hpp"

#include <array>

namespace ukemi::scenarios {

namespace {

constexpr std::array table{
    FirstScenario{.kind = "replay",
                  .text = R"json({
  "name": "NAME",
  "description": "Which rule meets the deadline, and at what price?",
  "seed": 1,  // of everything random
  "job": {
    "work": "48 hours",      // on one machine; or "steps" and "step_time"
    "deadline": "60 hours",
    "restart": "5 min",      // from having a machine to the first step
    "checkpoint": {"cost": "1 min", "restore": "2 min"}
  },
  "cluster": {"count": 1},
  "market": {
    "on_demand_price": "$3.06/h",
    /* A generated market; `ukemi list markets` has more. For a recorded one write
       "availability": "capacity.csv" and "spot_price": "$0.92/h" instead. */
    "generate": {"market": "v100-1-good", "length": "10 days"},
    "provisioning": "3 min"
  },
  // Each is a list of policies that run together; `ukemi list policies` has all.
  "replay": [
    "on_demand", "greedy+daly", "uniform_progress+daly", "greedy+periodic_checkpoint:20min"
  ]
}
)json",
                  .next = "ukemi replay FILE --seeds 1..10 --baseline on_demand"},
    FirstScenario{.kind = "compare",
                  .text = R"json({
  "name": "NAME",
  "description": "Which batch reaches the target first, and at what price?",
  "seed": 1,
  "job": {
    "samples": 5000000,      // at the reference batch
    "batch": 128,
    "samples_per_epoch": 50000,
    // A step of n samples on a worker takes fixed + n x per_sample, and then the exchange.
    "step_time": {
      "fixed": "18 ms",
      "per_sample": "0.7 ms",
      "exchange": {"1": "0 s", "2": "130 ms", "4": "135 ms"}
    },
    "restart": "30 s"
  },
  "cluster": {"count": 4},
  "learning": {
    // What a large batch is worth: the gradient noise scale, straight in between.
    "noise_scale": [
      {"samples": 0, "noise_scale": 70},
      {"samples": 1000000, "noise_scale": 2000},
      {"samples": 5000000, "noise_scale": 40000}
    ],
    "learning_rate": {"rule": "plan", "reference": 0.1}  // policies turn it
  },
  "market": {"on_demand_price": "$0.526/h", "spot_price": "$0.16/h"},
  "plan": {"market": "on_demand"},
  "replay": [
    "constant_batch:128+ada_scale", "constant_batch:1024+ada_scale", "goodput_batch+ada_scale"
  ]
}
)json",
                  .next = "ukemi compare FILE --baseline constant_batch:128+ada_scale"},
    FirstScenario{.kind = "simulate",
                  .text = R"json({
  "name": "NAME",
  "description": "Where does the time of a training step go?",
  "seed": 1,
  "cluster": {
    "machine": "p3.2xlarge",  // `ukemi list machines`
    "count": 8,
    "network": {"kind": "single_switch"}
  },
  "efficiency": {"network": 0.7},  // what software reaches of the line rate
  "job": {
    "model": "resnet50",      // `ukemi list models`
    "batch": 32,              // on each GPU
    "collective": "cheapest", // or ring, star, ...
    "steps": 20
  }
}
)json",
                  .next = "ukemi simulate FILE --set /cluster/count=16"},
    FirstScenario{.kind = "train",
                  .text = R"json({
  "name": "NAME",
  "description": "A small perceptron, trained for real on this computer by two workers.",
  "seed": 1,
  "job": {
    "samples": 100000,
    "batch_per_worker": 256,
    "samples_per_epoch": 16384,
    // What `ukemi replay` expects; `ukemi calibrate` measures it here.
    "throughput": {"1": "60000 samples/s", "2": "100000 samples/s"},
    "checkpoint": {"cost": "20 ms", "restore": "20 ms"},
    "restart": "200 ms"
  },
  "cluster": {"count_min": 1, "count_max": 2},
  "market": {"on_demand_price": "$3.06/h", "spot_price": "$0.92/h", "notice": "2 s"},
  "training": {
    "data": {"kind": "synthetic", "samples": 16384, "features": 128, "classes": 10},
    "model": {"kind": "mlp", "hidden": [64]},
    "learning_rate": 0.05,
    "optimiser": {"momentum": 0.9}
  },
  "replay": ["follow_capacity+spot_only+checkpoint_on_notice"]
}
)json",
                  .next = "ukemi train FILE"},
};

}  // namespace

std::span<const FirstScenario> first_scenarios() { return table; }

std::string named_text(const FirstScenario& first, std::string_view name) {
    constexpr std::string_view hole = "NAME";
    std::string text(first.text);
    return text.replace(text.find(hole), hole.size(), name);
}

}  // namespace ukemi::scenarios
