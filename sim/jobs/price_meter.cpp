// price_meter.cpp — sums of a series of prices, kept by step so that any moment can be asked for.
#include <algorithm>

#include "sim/jobs/group_market.hpp"

namespace ukemi::sim {

PriceMeter::PriceMeter(const GroupMarket& market)
    : repeats_(market.after_last_row == AfterLastRow::repeat && market.price.end > Instant{}),
      steps_(market.price.steps),
      end_(market.price.end) {
    if (steps_.empty()) steps_.push_back({Instant{}, Price{}});
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        before_.push_back(whole_);
        const Instant next =
            i + 1 < steps_.size() ? steps_[i + 1].at : std::max(end_, steps_[i].at);
        whole_.add(steps_[i].value, next - steps_[i].at);
    }
}

Duration PriceMeter::folded(Instant at) const {
    const Duration time = at.since_start();
    return repeats_ ? nanoseconds(time.raw() % end_.raw()) : time;
}

std::size_t PriceMeter::step_at(Instant at) const {
    const auto after =
        std::ranges::upper_bound(steps_, Instant::at(folded(at)), {}, &traces::Step<Price>::at);
    return static_cast<std::size_t>(after - steps_.begin()) - 1;
}

Charge PriceMeter::until(Instant at) const {
    const std::size_t step = step_at(at);
    Charge sum = repeats_ ? whole_.times(at.raw() / end_.raw()) : Charge{};
    sum.add(before_[step]);
    sum.add(steps_[step].value, Instant::at(folded(at)) - steps_[step].at);
    return sum;
}

Price PriceMeter::at(Instant at) const { return steps_[step_at(at)].value; }

Instant PriceMeter::next_change(Instant after) const {
    if (steps_.size() == 1) return Instant::never();
    const std::size_t step = step_at(after);
    const Duration within = folded(after);
    if (step + 1 < steps_.size()) return after + (steps_[step + 1].at.since_start() - within);
    return repeats_ ? after + (end_.since_start() - within) : Instant::never();
}

}  // namespace ukemi::sim
