// run_inputs.hpp — run.json: what results are a function of, written so that it can be run again.
//
// It holds the resolved scenario, the policies, seeds, traces, beginnings, varied keys and the
// baseline. Files of the market are named as they were on the command line, so it is run again from
// the folder where it was run first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/reader/variants.hpp"

namespace ukemi::analysis {

struct ReplayDocument {
    const scenarios::Scenario* scenario = nullptr;  // the first of the variants
    std::string varied_from;                        // the document that keys are varied in, if any
    std::vector<std::string> policies;              // labels
    std::vector<std::uint64_t> seeds;
};

// Of a prediction of `ukemi train`: what its scenario does not say.
struct PredictedInputs {
    std::filesystem::path costs;  // measured, in place of the job's own
    double time_scale = 1;
    std::optional<std::int32_t> workers;  // at most
    bool calm = false;                    // nothing is taken away
};

// What the results are a function of, besides the build.
struct ReplayInputs : ReplayDocument {
    std::vector<ReplayDocument> more;  // scenarios beside it
    std::vector<scenarios::VariedKey> varied;
    std::vector<std::filesystem::path> traces;
    bool zones = false;                 // the traces are of one market
    std::vector<std::string> warnings;  // about what came out; no part of the folder's name
    std::string starts = "1";           // of the windows, as parse_starts reads it
    std::string baseline;               // of pairs; empty: none are asked for
    std::optional<PredictedInputs> predicted;
    std::string live;  // of a live run: a JSON object that says how it was run
};

std::filesystem::path default_results_folder(const ReplayInputs& inputs);

// run.json: with the build, the warnings and the typed command, which are no inputs.
std::string run_json(const ReplayInputs& inputs);

// What a run.json says, as command lines say it.
struct StoredInputs {
    struct Document {
        std::filesystem::path file;  // of the scenario, where its paths lead from
        std::string text;
        std::string policies;  // "a,b+c": of all variants
        std::string seeds;     // "1,2"
    };
    std::vector<Document> documents;
    std::vector<scenarios::VariedKey> varied;
    std::vector<std::filesystem::path> traces;
    bool zones = false;
    std::string starts;
    std::string baseline;
    std::optional<PredictedInputs> predicted;
};

// Nothing if the file is no run.json: a scenario, or no JSON at all. InputError for one that is
// damaged or of a live run, which cannot be run again.
std::optional<StoredInputs> stored_inputs(const std::filesystem::path& file);

}  // namespace ukemi::analysis
