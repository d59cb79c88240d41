#include "policies/market/price_record.hpp"

#include <algorithm>

namespace ukemi::policies {

void PriceRecord::see(Price price, Instant now) {
    if (!spans_.empty()) {
        INVARIANT(now >= seen_until_);
        const Duration span = now - seen_until_;
        if (span > Duration{}) held_[spans_.back().price] += span;
        total_ += span;
    }
    if (spans_.empty() || spans_.back().price != price) spans_.push_back({now, price});
    seen_until_ = now;
    if (now.since_start() > window_) forget_until(now - window_);
}

void PriceRecord::forget_until(Instant start) {
    while (!spans_.empty() && spans_.front().since < start) {
        Span& oldest = spans_.front();
        const bool is_last = spans_.size() == 1;
        const Instant ends = is_last ? seen_until_ : spans_[1].since;
        const Duration gone = std::min(ends, start) - oldest.since;
        const auto held = held_.find(oldest.price);
        if (gone > Duration{}) {
            INVARIANT(held != held_.end() && held->second >= gone);
            held->second -= gone;
            if (held->second == Duration{}) held_.erase(held);
            total_ -= gone;
        }
        if (!is_last && ends <= start) {
            spans_.pop_front();
            continue;
        }
        oldest.since = start;
    }
}

Price PriceRecord::quantile(double q) const {
    INVARIANT(!spans_.empty() && q >= 0 && q <= 1);
    if (held_.empty()) return spans_.back().price;
    const double wanted_s = q * to_seconds(total_);
    Duration so_far;
    for (const auto& [price, held] : held_) {
        so_far += held;
        if (to_seconds(so_far) >= wanted_s) return price;
    }
    return held_.rbegin()->first;
}

}  // namespace ukemi::policies
