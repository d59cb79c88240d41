// scenario.hpp — what a scenario file says: a job, a market, and the policies to try.
//
// Reading is strict: unknown and duplicate keys, missing units and values out of range are
// InputErrors with a JSON path. A scenario is complete: no default depends on the machine, and
// `resolved` is the document with all defaults filled in. The market is made later, once it is
// known which trace a run uses (make_market).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/config_reader.hpp"
#include "kernels/training_spec.hpp"
#include "policies/capabilities.hpp"
#include "policies/registry.hpp"
#include "records/run_result.hpp"
#include "scenarios/optimum/optimum.hpp"
#include "sim/job/job_spec.hpp"
#include "sim/market/market.hpp"
#include "traces/generator.hpp"
#include "traces/reader.hpp"
#include "traces/zones.hpp"

namespace ukemi::scenarios {

// Several policies that run together, as in "greedy+daly".
struct PolicyList {
    struct Item {
        const policies::PolicyEntry* entry;
        std::string parameters;  // a JSON object as text
        std::string value = {};  // of its short parameter, as in "constant_batch:256"
    };
    std::vector<Item> items;
    std::string where;  // the option or the place in the file that names it, for complaints
    // The short names joined by '+': the one name that the list has in everything that is written.
    std::string label() const;
    bool needs_oracle() const;
    bool needs_deadline() const;
};

struct ZoneSource {
    std::string name;
    std::filesystem::path availability;  // empty: see MarketSource
    std::filesystem::path price;         // empty: the availability file's own, or spot_price
    std::optional<Price> spot_price;
    std::string spot_price_at;  // the section that has it
    Price on_demand_price;
    std::string instance_type;  // of a file with several; empty: the cluster's
    std::string region;         // empty: what its name says
    std::int32_t speed_per_mille = 1000;
};

struct MarketSource {
    std::string path = "/market";   // of its section
    std::vector<ZoneSource> zones;  // at least one
    std::string generator;          // name of a set of market parameters, or empty
    std::optional<traces::MarketParameters> generator_parameters;  // if it has a name
    std::int32_t generator_zones = 1;
    Duration generator_length;
    bool price_from_trace = true;  // where a trace has prices; else always spot_price
    bool price_from_said = false;  // by the scenario, which may leave it open
    traces::Polarity polarity = traces::Polarity::as_documented;
    std::string instance_type;
    sim::AfterLastRow after_last_row = sim::AfterLastRow::end;
    bool recorded_losses = false;  // of the machines that a trace names; else they are drawn
    Duration notice;
    Duration provisioning;
    sim::MarketRules rules;
    sim::TransferRules transfer;
};

struct Scenario {
    std::string name;
    std::filesystem::path file;
    std::uint64_t seed = 0;
    sim::JobSpec job;                       // give_up_at is filled in with the market
    std::optional<Duration> give_up_after;  // as the scenario says
    MarketSource market;
    std::string step_exchange;        // of simulated step times: what adds up the gradients
    bool steps_in_layout = false;     // whether those steps are of a layout
    std::int64_t step_gpus = 1;       // of a machine of those steps
    std::optional<Bytes> model_size;  // of what moves with the job
    std::filesystem::path costs;      // a calibration that the job's profile is from, or empty
    bool links_of_costs = false;      // so are the links between its hosts
    std::optional<kernels::TrainingSpec>
        training;                      // what live workers train; a simulation needs none
    std::vector<PolicyList> policies;  // what a replay runs unless told otherwise; maybe none
    std::string starts;                // where in a trace runs begin (parse_starts), or empty
    bool oracle_allowed = false;
    std::map<std::string, std::string> policy_parameters;  // by full name, JSON objects as text
    std::string resolved;
    std::uint64_t files_digest = 0;  // of what was in the files read with it; its traces come later
    std::vector<records::VariedValue> varied;  // of the document that this is a variant of
};

Scenario read_scenario(const std::filesystem::path& file,
                       std::span<const ConfigOverride> overrides = {});
// As from a file of that name; relative trace paths are looked up beside it.
Scenario scenario_from_text(std::string_view text, const std::filesystem::path& file,
                            std::span<const ConfigOverride> overrides = {});

// "a,b+c:8": a list of lists (c with its short parameter set to 8), with the scenario's parameters
// for them. `where` names the option.
std::vector<PolicyList> parse_policies(std::string_view text, const Scenario& scenario,
                                       std::string_view where);
// The first of the scenario's own lists; InputError where it has none.
const PolicyList& first_policies(const Scenario& scenario);
// Makes the policies of one run.
std::vector<std::unique_ptr<policies::Policy>> make_policies(const PolicyList& list);
// Throws InputError, with the key, if the world cannot commit the scenario's first Plan: a codec
// that it has no costs of.
void expect_first_plan(const Scenario& scenario, const policies::Capabilities& world);
// Throws InputError if the list cannot run in this scenario and world: a first Plan that cannot be,
// knobs that two policies share or the world lacks, a deadline or an oracle that is missing.
void check_policies(const PolicyList& list, const Scenario& scenario,
                    const policies::Capabilities& world);

struct NamedMarket {
    std::string name;      // of the trace: its file's, without folders and endings
    sim::MarketData data;  // prepared
    std::string record;    // what the trace is of: the zone that its file names, a generated market
    std::map<std::string, bool> typed_prices;  // by section: whether any zone has its spot_price
    Duration start;                            // of the market, in the trace
    std::int64_t stretch = 0;                  // of the trace, as TraceWindow says
    std::vector<std::string> findings;         // of its files: what was missing, what not read
    std::vector<std::string> doubts;           // about results on it, if somebody asked
    std::optional<Optimum> optimum;  // of the scenario's job here, if somebody asked for it
};
// The scenario's own market, or the same with `trace` in place of its series: an availability
// file, a price file, or both in one; or with the series of `zones`. The seed matters only to a
// generated market.
NamedMarket make_market(const Scenario& scenario, std::uint64_t seed,
                        const std::filesystem::path& trace = {},
                        const traces::Trace* zones = nullptr);
// How the scenario reads its traces. It must outlive what they are read with.
traces::ReadOptions trace_options(const Scenario& scenario);
// The scenario's job on that market: with the moment at which a run gives up.
sim::JobSpec job_on(const Scenario& scenario, const sim::MarketData& market);

}  // namespace ukemi::scenarios
