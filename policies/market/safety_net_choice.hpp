// safety_net_choice.hpp — the safety net as policies hold it: its kind, read from a scenario, and
// its latch.
//
// A job that can lose work must not go back to spot once the net has caught it: each checkpoint
// would give it a moment of slack, to be lost again. A lossless job needs no latch, because its
// slack stays at zero by itself.
#pragma once

#include <array>
#include <optional>

#include "base/config_reader.hpp"
#include "policies/market/deadline_view.hpp"

namespace ukemi::policies {

class LatchingNet {
public:
    explicit LatchingNet(SafetyNet kind) : kind_(kind) {}

    std::optional<Market> insists(const DeadlineView& now) {
        if (latched_) return Market::on_demand;
        const auto insisted = safety_net(kind_, now);
        latched_ = now.loses_work && insisted == Market::on_demand;
        return insisted;
    }

private:
    SafetyNet kind_;
    bool latched_ = false;
};

inline SafetyNet read_safety_net(ConfigReader& parameters) {
    static constexpr std::array<std::string_view, 2> names{"simple", "strong"};
    return parameters.one_of("safety_net", names, "strong") == "simple" ? SafetyNet::simple
                                                                        : SafetyNet::strong;
}

}  // namespace ukemi::policies
