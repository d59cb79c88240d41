// step_fit.hpp — how long steps of a job take elsewhere, fitted to those that it has made: the
// model by which Pollux (Qiao et al., OSDI'21) predicts.
//
// A pass takes αc + βc × batch of a GPU; an exchange α + β × (GPUs − 2), with parameters of their
// own within a machine and between machines; a step (passᵞ + exchangeᵞ)^(1/γ), which is their sum
// at γ = 1 and nearly the larger of them at 10. What has not been seen is hoped for: exchanges cost
// next to nothing until there was one, and between machines a tenth more than within until there
// was one between machines. The fit makes the sum of root mean square errors of the logarithms of
// passes and of steps least, plus 0.001 (γ − 1)² and 0.01 Σ (β / α)² of exchanges.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace ukemi::sim {

struct SeenStep {
    std::int32_t machines = 1;
    std::int32_t gpus = 1;
    std::int64_t local = 1;  // samples of a GPU in a pass
    double pass_s = 0;       // of a pass without exchange
    double step_s = 0;       // of a pass with it
};

class StepFit {
public:
    bool empty() const { return seen_.empty(); }
    // Of like steps (machines, GPUs, batch of a GPU) the first counts. Whether it is the first.
    bool saw(const SeenStep& step);
    double pass_s(double local) const;
    struct Exchange {
        double time_s = 0;
        double log = 0;
    };
    Exchange exchange(std::int32_t machines, std::int32_t gpus) const;
    // Of a step with such an exchange, after so many passes without one.
    double step_s(double pass_s, const Exchange& exchange, std::int64_t accumulated) const;

private:
    enum Parameter : std::uint8_t {
        pass_fixed,
        pass_each,
        between_fixed,
        between_each,
        within_fixed,
        within_each,
        overlap,  // γ
        parameters
    };
    using Values = std::array<double, parameters>;  // logarithms of them, but for γ
    struct Bounds {
        Values least;
        Values most;
    };

    void fit();
    Bounds bounds() const;
    // Of the sum of errors, with its slopes.
    double cost(const Values& at, Values& slopes) const;

    struct Seen : SeenStep {
        double log_pass = 0;
        double log_step = 0;
        std::size_t pass = 0;      // among the passes that differ
        std::size_t exchange = 0;  // among the exchanges that differ
    };
    // Many steps have the same pass or the same exchange, whose logarithms are what a fit costs.
    struct Exchanging {
        bool between_machines = false;
        std::int32_t gpus = 1;
        friend bool operator==(const Exchanging&, const Exchanging&) = default;
    };
    std::vector<Seen> seen_;
    std::vector<std::int64_t> passes_;  // by their batches
    std::vector<Exchanging> exchanges_;
    Values fitted_{};  // the parameters themselves
};

}  // namespace ukemi::sim
