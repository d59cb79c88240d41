#include "analysis/database/sweep_request.hpp"

#include <fmt/format.h>

#include "analysis/database/cluster_maker.hpp"
#include "analysis/database/market_maker.hpp"
#include "base/input_error.hpp"

namespace ukemi::analysis {

namespace {

// Runs on markets; these are read as long as they are made.
class ReplayedMaker final : public RunMaker {
public:
    explicit ReplayedMaker(const SweepRequest& options)
        : runs_(prepare_runs(options, true)), maker_(runs_.cases, runs_.setup) {
        if (!runs_.inputs.predicted) return;
        throw InputError(runs_.inputs.scenario->file.string(), "",
                         "is of a prediction of live runs: ukemi replay runs it again");
    }
    const RunKind& kind() const override { return maker_.kind(); }
    std::uint64_t digest() const override { return maker_.digest(); }
    std::vector<SweptScenario> scenarios() const override { return maker_.scenarios(); }
    void make(const SweepTaker& taker) override { maker_.make(taker); }

private:
    PreparedRuns runs_;
    MarketMaker maker_;
};

void refuse_option(std::string_view option, std::string_view why) {
    throw InputError(option, "", why);
}

}  // namespace

std::unique_ptr<RunMaker> run_maker(const SweepRequest& options) {
    const std::filesystem::path& first = options.scenarios.front();
    // What comes through a pipe is read once only.
    const bool is_file = std::filesystem::is_regular_file(first);
    const std::string_view command = is_file ? cluster_command(first) : std::string_view();
    if (!options.schedulers.empty() && command != "schedule") {
        refuse_option("--schedulers",
                      "is of jobs that share a cluster, and this scenario has none");
    }
    if (options.full && command != "search") {
        refuse_option("--full", "is of searches, and this scenario is none");
    }
    if (command.empty()) return std::make_unique<ReplayedMaker>(options);
    if (options.scenarios.size() > 1) {
        throw InputError(
            options.scenarios[1].string(), "",
            fmt::format("expected one scenario of ukemi {}: --vary makes several", command));
    }
    constexpr std::string_view of_markets = "is of jobs on a market, and this scenario has none";
    if (!options.traces.empty()) refuse_option("--traces", of_markets);
    if (options.zones) refuse_option("--zones", of_markets);
    if (!options.policies.empty()) refuse_option("--policies", of_markets);
    if (!options.starts.empty()) refuse_option("--starts", of_markets);
    ClusterRequest request;
    request.scenario = first;
    request.schedulers = options.schedulers;
    request.variation = options.variation;
    request.seeds = options.seeds;
    request.full = options.full;
    return cluster_maker(request, command, options.threads);
}

}  // namespace ukemi::analysis
