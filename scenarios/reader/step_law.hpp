// step_law.hpp — how long a step takes under Plans that were not measured, from those that were.
//
// For a group of n workers, each of which does m micro-steps of b samples:
//
//     T = fixed(n) + (m − 1)·micro(n) + per_sample(n)·m·b + exchange(n, kind)
//
// fixed and per_sample are a line through the steps of plain S-SGD without a codec and with m = 1;
// a kind is (synchronisation, collective, codec, level), and what it costs more or less than plain
// S-SGD is one number, the median of what its measured steps leave over. A kind that was measured
// at two batches or more has a line of its own instead of that number: an exchange that hides
// behind computing, as averaging's do, costs less the more there is to compute. Affine compute is
// Pollux's T_grad (OSDI'21, eq. 9, γ = 1). Nothing is said about a number of workers or a kind that
// nobody measured. Times are wall times of one training on one machine.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/line_fit.hpp"
#include "policies/plan.hpp"

namespace ukemi::scenarios {

// Of a Plan, what the time of its step depends on.
struct StepSetting {
    std::int32_t workers = 1;
    std::int64_t batch = 1;  // samples of one micro-step of the busiest worker
    std::int32_t micro_steps = 1;
    policies::Synchronisation synchronisation = policies::Synchronisation::s_sgd;
    policies::Collective collective = policies::Collective::automatic;
    policies::Codec codec = policies::Codec::none;
    double codec_level = 0;
    friend auto operator<=>(const StepSetting&, const StepSetting&) = default;
};

StepSetting setting_of(const policies::Plan& plan, std::int32_t workers);
// The Plan with this setting's batch, learners and kind; its learners do the micro-steps.
policies::Plan plan_with(policies::Plan plan, const StepSetting& setting);
std::string setting_text(const StepSetting& setting);  // "2 workers, batch 64, s_sgd"

struct MeasuredStep {
    StepSetting setting;
    double s = 0;  // > 0
};

class StepLaw {
public:
    // What is missing for a law, if anything, is said by `refusal`.
    explicit StepLaw(std::span<const MeasuredStep> measured);

    // Why this setting cannot be predicted; empty if it can.
    std::string refusal(const StepSetting& setting) const;
    double step_s(const StepSetting& setting) const;  // refusal must be empty
    // Whether its samples and micro-steps lie within those that were measured of its kind, with
    // so many workers.
    bool covers(const StepSetting& setting) const;

    struct Residual {
        StepSetting setting;
        double measured_s = 0;
        double law_s = 0;
    };
    std::vector<Residual> residuals() const;  // of the steps that the law was made from
    // The lines of plain S-SGD: by workers, over samples.
    struct Line {
        std::int32_t workers = 1;
        LineFit fit;
        double micro_s = 0;
    };
    std::vector<Line> lines() const;

private:
    using Kind =
        std::tuple<policies::Synchronisation, policies::Collective, policies::Codec, double>;
    struct Group {  // of one number of workers
        LineFit line;
        double micro_s = 0;
        std::int32_t micro_most = 1;  // measured, of any kind
        std::map<Kind, double> exchange_s;
        std::map<Kind, std::pair<double, double>> samples;  // measured: the least, the most
        std::map<Kind, LineFit> lines;                      // of kinds other than plain
    };
    static Kind kind_of(const StepSetting& setting);
    static bool is_plain(const StepSetting& setting);
    static double without_exchange(const Group& group, const StepSetting& setting);

    std::map<std::int32_t, Group> groups_;
    std::vector<MeasuredStep> measured_;
};

}  // namespace ukemi::scenarios
