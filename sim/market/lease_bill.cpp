#include "sim/market/lease_bill.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace ukemi::sim {

namespace {

Price bounded(Price price, const std::optional<Price>& most) {
    return most ? std::min(price, *most) : price;
}

}  // namespace

Charge charge_of_lease(const records::BillingRule& rule, PriceCursor price, Instant opened,
                       Duration held, Duration paid, std::optional<Price> most) {
    Charge charge;
    const Instant end = opened + paid;
    const bool by_step = rule.price_at_beginning && rule.granularity > Duration{};
    if (by_step) {
        const Instant given_back = opened + held;
        for (Instant begin = opened; begin < end; begin = begin + rule.granularity) {
            while (price.next_at() <= std::min(begin, given_back)) price.advance();
            charge.add(bounded(price.value(), most), std::min(rule.granularity, end - begin));
        }
        return charge;
    }
    const Instant changes_until = std::min(end, opened + held);
    Instant now = opened;
    while (price.next_at() <= now) price.advance();
    // A change at the very end costs nothing of the lease, and all that is paid beyond it.
    while (price.next_at() <= changes_until) {
        charge.add(bounded(price.value(), most), price.next_at() - now);
        now = price.next_at();
        price.advance();
    }
    charge.add(bounded(price.value(), most), end - now);
    return charge;
}

Dollars in_all(Dollars a, Dollars b) {
    std::int64_t sum = 0;
    if (!__builtin_add_overflow(a.raw(), b.raw(), &sum)) return Dollars::of(sum);
    throw std::overflow_error("the run is too large: more than nine billion dollars are paid for");
}

}  // namespace ukemi::sim
