// price_record.hpp — the prices of one zone that a policy has seen, over a sliding window of time.
//
// A price holds from the moment it is seen until another is. Quantiles are weighted by the time for
// which a price held, so that they do not depend on how often anybody looked.
#pragma once

#include <deque>
#include <map>

#include "base/quantity.hpp"

namespace ukemi::policies {

class PriceRecord {
public:
    explicit PriceRecord(Duration window) : window_(window) {}

    // Time must not run backwards from call to call.
    void see(Price price, Instant now);

    Duration seen_for() const { return total_; }  // at most the window
    // The least price that was not exceeded for the share `q` of the time seen; the last price if
    // no time was. 0 ≤ q ≤ 1; see() comes before.
    Price quantile(double q) const;

private:
    struct Span {
        Instant since;
        Price price;
    };
    void forget_until(Instant start);

    Duration window_;
    std::deque<Span> spans_;          // in order of time; the last is not over
    std::map<Price, Duration> held_;  // of the spans, within the window
    Duration total_;                  // of held_
    Instant seen_until_;
};

}  // namespace ukemi::policies
