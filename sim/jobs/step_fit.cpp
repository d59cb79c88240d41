// step_fit.cpp — the fit: a quasi-Newton method (BFGS) within bounds, from the same start always.
#include "sim/jobs/step_fit.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/exact_math.hpp"

namespace ukemi::sim {

namespace {

constexpr double nothing_s = 1e-8;  // the least that a parameter can be
constexpr double overlap_most = 10;

// log (e^(γa) + e^(γb)) / γ, and the part of a in it.
struct Joined {
    double log = 0;
    double part_of_first = 0;
};
Joined joined(double a, double b, double gamma) {
    const double less = exact::exp(-gamma * std::abs(a - b));
    const double part = 1 / (1 + less);
    return {std::max(a, b) + exact::log1p(less) / gamma, a >= b ? part : 1 - part};
}

// A root mean square, smooth at zero; its slope is slope_of × Σ error × slope of the error.
struct Errors {
    double squares = 0;
    double root = 0;
    double slope_of = 0;
    void finish(std::size_t count) {
        constexpr double smooth = 1e-12;
        root = std::sqrt(squares / static_cast<double>(count) + smooth);
        slope_of = 1 / (static_cast<double>(count) * root);
    }
};

// Where it stands in the list, which it joins if it is new.
template <class Value>
std::size_t place_in(std::vector<Value>& list, const Value& value) {
    const auto place = std::ranges::find(list, value) - list.begin();
    if (place == std::ssize(list)) list.push_back(value);
    return static_cast<std::size_t>(place);
}

struct TimeAndLog {
    double time_s = 0;
    double log = 0;
};

template <std::size_t N>
class Minimiser {
public:
    using Values = std::array<double, N>;
    Minimiser(const Values& least, const Values& most) : least_(least), most_(most) {}

    template <class Cost>
    Values minimise(Values at, const Cost& cost) {
        Values slopes{};
        double value = cost(at, slopes);
        forget();
        for (int step = 0; step < 200; ++step) {
            Values next = at;
            Values next_slopes{};
            double next_value = value;
            if (!further(at, value, slopes, cost, next, next_value, next_slopes)) {
                if (is_new_) break;
                forget();  // perhaps what was learned of the curvature misleads
                continue;
            }
            const bool done = value - next_value < 1e-10 * std::max(1.0, std::abs(value));
            learn(at, next, slopes, next_slopes);
            at = next;
            value = next_value;
            slopes = next_slopes;
            if (done) break;
        }
        return at;
    }

private:
    void forget() {
        for (std::size_t i = 0; i < N; ++i) {
            inverse_[i].fill(0);
            inverse_[i][i] = 1;
        }
        is_new_ = true;
    }
    bool is_free(std::size_t i, const Values& at, const Values& slopes) const {
        if (least_[i] == most_[i]) return false;
        return !(at[i] <= least_[i] && slopes[i] > 0) && !(at[i] >= most_[i] && slopes[i] < 0);
    }
    // A step downhill along the path that the bounds bend, long enough to be worth it.
    template <class Cost>
    bool further(const Values& at, double value, const Values& slopes, const Cost& cost,
                 Values& next, double& next_value, Values& next_slopes) const {
        Values way{};
        double downhill = 0;
        for (std::size_t i = 0; i < N; ++i) {
            if (!is_free(i, at, slopes)) continue;
            for (std::size_t j = 0; j < N; ++j) {
                if (is_free(j, at, slopes)) way[i] -= inverse_[i][j] * slopes[j];
            }
            downhill += way[i] * slopes[i];
        }
        if (downhill > -1e-14) return false;
        double length = 1;
        for (int halved = 0; halved < 40; ++halved, length /= 2) {
            double moved = 0;
            for (std::size_t i = 0; i < N; ++i) {
                next[i] = std::clamp(at[i] + length * way[i], least_[i], most_[i]);
                moved += slopes[i] * (next[i] - at[i]);
            }
            next_value = cost(next, next_slopes);
            constexpr double worth = 1e-4;
            if (next_value <= value + worth * moved && next_value < value) return true;
        }
        return false;
    }
    void learn(const Values& at, const Values& next, const Values& slopes,
               const Values& next_slopes) {
        Values moved{};
        Values turned{};
        double both = 0;
        double turned_twice = 0;
        for (std::size_t i = 0; i < N; ++i) {
            moved[i] = next[i] - at[i];
            turned[i] = next_slopes[i] - slopes[i];
            both += moved[i] * turned[i];
            turned_twice += turned[i] * turned[i];
        }
        if (both <= 1e-12) return;
        if (std::exchange(is_new_, false)) {
            for (std::size_t i = 0; i < N; ++i) inverse_[i][i] = both / turned_twice;
        }
        Values product{};
        double twice = 0;
        for (std::size_t i = 0; i < N; ++i) {
            for (std::size_t j = 0; j < N; ++j) product[i] += inverse_[i][j] * turned[j];
            twice += product[i] * turned[i];
        }
        for (std::size_t i = 0; i < N; ++i) {
            for (std::size_t j = 0; j < N; ++j) {
                inverse_[i][j] += (1 + twice / both) * moved[i] * moved[j] / both -
                                  (product[i] * moved[j] + moved[i] * product[j]) / both;
            }
        }
    }

    const Values& least_;
    const Values& most_;
    std::array<Values, N> inverse_{};
    bool is_new_ = true;
};

}  // namespace

bool StepFit::saw(const SeenStep& step) {
    const bool known = std::ranges::any_of(seen_, [&](const SeenStep& one) {
        return one.machines == step.machines && one.gpus == step.gpus && one.local == step.local;
    });
    if (known) return false;
    seen_.push_back({step, exact::log(step.pass_s), exact::log(step.step_s),
                     place_in(passes_, step.local),
                     place_in(exchanges_, Exchanging{step.machines > 1, step.gpus})});
    fit();
    return true;
}

double StepFit::pass_s(double local) const {
    return fitted_[pass_fixed] + fitted_[pass_each] * local;
}

StepFit::Exchange StepFit::exchange(std::int32_t machines, std::int32_t gpus) const {
    const double further = std::max<double>(gpus - 2, nothing_s);
    double time_s = nothing_s;
    if (gpus > 1) {
        time_s = machines > 1 ? fitted_[between_fixed] + fitted_[between_each] * further
                              : fitted_[within_fixed] + fitted_[within_each] * further;
    }
    return {time_s, exact::log(time_s)};
}

double StepFit::step_s(double pass_s, const Exchange& exchange, std::int64_t accumulated) const {
    const double both = joined(exact::log(pass_s), exchange.log, fitted_[overlap]).log;
    return exact::exp(both) + pass_s * static_cast<double>(accumulated);
}

// A parameter that nothing seen speaks of stays where it is hoped for.
StepFit::Bounds StepFit::bounds() const {
    constexpr double largest_s = 1e6;
    Bounds all;
    all.least.fill(exact::log(nothing_s));
    all.most.fill(exact::log(largest_s));
    all.least[overlap] = 1;
    all.most[overlap] = overlap_most;
    const auto any = [&](const auto& what) { return std::ranges::any_of(seen_, what); };
    const auto leave = [&](Parameter one) { all.most[one] = all.least[one]; };
    if (!any([&](const SeenStep& one) { return one.local != seen_.front().local; })) {
        double mean_s = 0;  // half of a pass is its fixed part
        for (const SeenStep& one : seen_) mean_s += one.pass_s / static_cast<double>(seen_.size());
        all.least[pass_fixed] = all.most[pass_fixed] = exact::log(mean_s / 2);
    }
    const bool between = any([](const SeenStep& one) { return one.machines > 1; });
    const bool within = any([](const SeenStep& one) { return one.machines == 1 && one.gpus > 1; });
    const bool several = any([](const SeenStep& one) { return one.gpus > 2; });
    if (!between) leave(between_fixed);
    if (!between || !several) leave(between_each);
    if (!within) leave(within_fixed);
    if (!within || !several) leave(within_each);
    return all;
}

void StepFit::fit() {
    const Bounds limits = bounds();
    const double fixed = exact::log(1e-1);
    const double each = exact::log(1e-2);
    Values start = {fixed, each, fixed, each, fixed, each, 1 + 1e-3};
    for (std::size_t i = 0; i < parameters; ++i) {
        start[i] = std::clamp(start[i], limits.least[i], limits.most[i]);
    }
    fitted_ =
        Minimiser<parameters>(limits.least, limits.most)
            .minimise(start, [&](const Values& at, Values& slopes) { return cost(at, slopes); });
    for (std::size_t i = 0; i < overlap; ++i) fitted_[i] = exact::exp(fitted_[i]);
    const bool between =
        std::ranges::any_of(seen_, [](const SeenStep& one) { return one.machines > 1; });
    if (between) return;
    constexpr double dearer = 1.1;
    fitted_[between_fixed] = std::max(fitted_[between_fixed], dearer * fitted_[within_fixed]);
    fitted_[between_each] = std::max(fitted_[between_each], dearer * fitted_[within_each]);
}

double StepFit::cost(const Values& at, Values& slopes) const {
    Values now{};
    for (std::size_t i = 0; i < overlap; ++i) now[i] = exact::exp(at[i]);
    const double gamma = at[overlap];
    std::vector<TimeAndLog> pass_times;
    for (const std::int64_t local : passes_) {
        const double pass = now[pass_fixed] + now[pass_each] * static_cast<double>(local);
        pass_times.push_back({pass, exact::log(pass)});
    }
    std::vector<TimeAndLog> exchange_times;
    for (const auto& [between_machines, gpus] : exchanges_) {
        const Parameter fixed = between_machines ? between_fixed : within_fixed;
        const double further = std::max<double>(gpus - 2, nothing_s);
        const double exchange = gpus > 1 ? now[fixed] + now[fixed + 1U] * further : nothing_s;
        exchange_times.push_back({exchange, exact::log(exchange)});
    }
    Errors passes;
    Errors steps;
    Values pass_slopes{};  // Σ error × slope
    Values step_slopes{};
    for (const Seen& one : seen_) {
        const auto local = static_cast<double>(one.local);
        const auto& [pass, log_pass] = pass_times[one.pass];
        const double pass_error = log_pass - one.log_pass;
        const Parameter fixed = one.machines > 1 ? between_fixed : within_fixed;
        const Parameter each = one.machines > 1 ? between_each : within_each;
        const double further = std::max<double>(one.gpus - 2, nothing_s);
        const auto& [exchange, log_exchange] = exchange_times[one.exchange];
        const Joined both = joined(log_pass, log_exchange, gamma);
        const double step_error = both.log - one.log_step;
        passes.squares += pass_error * pass_error;
        steps.squares += step_error * step_error;
        const double by_fixed = now[pass_fixed] / pass;
        const double by_each = now[pass_each] * local / pass;
        pass_slopes[pass_fixed] += pass_error * by_fixed;
        pass_slopes[pass_each] += pass_error * by_each;
        step_slopes[pass_fixed] += step_error * both.part_of_first * by_fixed;
        step_slopes[pass_each] += step_error * both.part_of_first * by_each;
        const double rest = 1 - both.part_of_first;
        if (one.gpus > 1) {
            step_slopes[fixed] += step_error * rest * now[fixed] / exchange;
            step_slopes[each] += step_error * rest * now[each] * further / exchange;
        }
        step_slopes[overlap] +=
            step_error * (both.part_of_first * log_pass + rest * log_exchange - both.log) / gamma;
    }
    passes.finish(seen_.size());
    steps.finish(seen_.size());
    for (std::size_t i = 0; i < parameters; ++i) {
        slopes[i] = pass_slopes[i] * passes.slope_of + step_slopes[i] * steps.slope_of;
    }
    constexpr double overlap_weight = 1e-3;
    constexpr double further_weight = 1e-2;
    double all = passes.root + steps.root + overlap_weight * (gamma - 1) * (gamma - 1);
    slopes[overlap] += 2 * overlap_weight * (gamma - 1);
    for (const Parameter fixed : {between_fixed, within_fixed}) {
        const std::size_t each = fixed + 1U;
        const double ratio = now[each] / now[fixed];
        all += further_weight * ratio * ratio;
        slopes[each] += 2 * further_weight * ratio * ratio;
        slopes[fixed] -= 2 * further_weight * ratio * ratio;
    }
    return all;
}

}  // namespace ukemi::sim
