// capabilities.hpp — what a world can turn, and how far.
//
// A world hands this to the Controller at construction. A scenario whose policies turn other knobs
// is refused when it is read, and a Decision outside the ranges is refused as a whole.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "policies/plan.hpp"
#include "policies/policy.hpp"

namespace ukemi::policies {

struct CodecRange {  // a codec that a world has, with these levels
    Codec codec = Codec::none;
    double level_min = 0;
    double level_max = 0;
    bool whole_levels = false;
    bool has_default = true;  // level 0, its usual one
    friend bool operator==(const CodecRange&, const CodecRange&) = default;
};

struct Capabilities {
    std::string world;  // "simulated market", as in messages
    KnobSet knobs;
    std::uint32_t zones = 1;           // zone numbers are below this
    std::uint32_t instance_types = 1;  // type numbers are below this
    std::int32_t instances_max = 1;    // held at once
    std::int32_t workers_min = 1;
    HookSet hooks = every_hook;           // the world calls these; it would never call another
    std::vector<CodecRange> codecs = {};  // besides none, where the knob is turned
    bool learners_code = true;            // also where a worker has several learners
    std::int32_t learners_max = std::numeric_limits<std::int32_t>::max();  // on each GPU
    // The rules that it can commit, where that knob is turned; empty: any.
    std::vector<Synchronisation> synchronisations = {};
    // Numbers of stages that its pipelines may have, where the layout is turned; empty: any.
    std::vector<std::int32_t> stages = {};
};

// Empty if a world with these capabilities can commit `to`; else what it cannot do.
std::string refusal(const Capabilities& world, const Plan& to);

}  // namespace ukemi::policies
