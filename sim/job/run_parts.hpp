// run_parts.hpp — what the parts of one run have in common: each looks at the others' here.
#pragma once

#include "policies/controller.hpp"
#include "records/ledger.hpp"
#include "sim/engine/event.hpp"
#include "sim/job/job_spec.hpp"
#include "sim/job/trainer.hpp"
#include "sim/market/fleet.hpp"
#include "sim/market/market.hpp"

namespace ukemi::sim {

struct RunParts {  // all of them outlive who holds this
    const JobSpec& job;
    SpotMarket& market;
    Fleet& fleet;
    records::Ledger& ledger;
    RunQueue& queue;
    policies::Controller& controller;
    Trainer& trainer;
};

}  // namespace ukemi::sim
