// market_maker.hpp — the runs of an experiment on markets, as a sweep makes them.
#pragma once

#include <span>

#include "analysis/database/run_keys.hpp"
#include "analysis/database/run_maker.hpp"
#include "scenarios/experiment/experiment.hpp"

namespace ukemi::analysis {

class MarketMaker final : public RunMaker {
public:
    // Both are looked at until the runs are made.
    MarketMaker(std::span<const scenarios::ExperimentCase> cases,
                const scenarios::ExperimentSetup& setup)
        : cases_(cases), setup_(setup), keys_(cases, setup) {}

    const RunKind& kind() const override { return market_runs(); }
    std::uint64_t digest() const override { return keys_.digest(); }
    std::vector<SweptScenario> scenarios() const override;
    void make(const SweepTaker& taker) override;

private:
    std::span<const scenarios::ExperimentCase> cases_;
    const scenarios::ExperimentSetup& setup_;
    RunKeys keys_;
};

}  // namespace ukemi::analysis
