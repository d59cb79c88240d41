// bid.cpp — what to offer for a spot instance, where the market takes bids.
//
// Three rules: "fixed" (a price), "on_demand" (`factor` times the zone's on-demand price) and
// "quantile" (of the prices that this zone had for the share `quantile` of the last `window`, seen
// from the start of the job on). A bid is a promise made at the launch: an instance keeps the one
// that it was launched with, so a new bid counts for launches from then on, and never makes a held
// one safer. So the quantile is taken anew no more often than every `rebid_every`, whatever the
// price does in between. Until `warm_up` of prices was seen it bids like "on_demand", which stays
// the most it bids; `floor` is the least, as a share of the on-demand price. AWS took no price
// below 0.001 USD/h, and its default was the on-demand price (EC2 user guide, «Spot price»).
#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "base/bounded_duration.hpp"
#include "policies/market/pools.hpp"
#include "policies/market/price_record.hpp"

namespace ukemi::policies {

namespace {

struct BidRule {
    enum class Kind { fixed, on_demand, quantile };
    Kind kind = Kind::on_demand;
    Price price;        // fixed
    double factor = 1;  // of on-demand: the bid, or the most the quantile bids
    double quantile = 0.9;
    Duration window;
    Duration warm_up;
    Duration rebid_every;
    double floor = 0;  // of on-demand
};

// Zero (unknown) stays zero, the provider's default.
Price share_of(Price price, double factor) {
    if (price <= Price{}) return {};
    constexpr double least = 1e6;
    constexpr double most = 1e15;
    return Price::of(
        round_nearest(std::clamp(static_cast<double>(price.raw()) * factor, least, most)));
}

class Bid final : public Policy {
public:
    explicit Bid(const BidRule& rule) : rule_(rule) {}
    std::string_view name() const override { return "bid"; }
    KnobSet knobs() const override { return {Knob::bid}; }
    HookSet hooks() const override { return {Hook::before_train, Hook::on_event}; }
    Decision before_train(const PolicyView& view) override { return offer(view); }
    Decision on_event(EventKind, const PolicyView& view) override { return offer(view); }

private:
    // The wish is stated for all zones each time: another policy may add one at this boundary.
    Decision offer(const PolicyView& view) {
        const Observation& seen = view.seen;
        Decision decision;
        if (rule_.kind == BidRule::Kind::fixed) {
            decision.bid = rule_.price;
            decision.reason = "fixed";
            return decision;
        }
        if (rule_.kind == BidRule::Kind::quantile) return quantiles(seen);
        decision.reason = "share of on-demand";
        if (seen.zones.empty()) {
            decision.bid = share_of(seen.on_demand_price, rule_.factor);
            return decision;
        }
        decision.zone_bids.emplace();
        for (const ZoneView& zone : seen.zones) {
            const Price price = pool_price(zone, Market::on_demand, seen);
            decision.zone_bids->push_back({zone.zone, share_of(price, rule_.factor)});
        }
        return decision;
    }

    Decision quantiles(const Observation& seen) {
        Decision decision;
        if (seen.zones.empty()) return decision;  // no prices to learn from
        const bool anew = offered_.empty() || seen.now - offered_at_ >= rule_.rebid_every;
        if (anew) offered_at_ = seen.now;
        bool outbid = false;
        decision.zone_bids.emplace();
        for (const ZoneView& zone : seen.zones) {
            PriceRecord& record = records_.try_emplace(zone.zone, rule_.window).first->second;
            record.see(zone.spot_price, seen.now);
            const auto offered = offered_.find(zone.zone);
            const bool keeps = !anew && offered != offered_.end();
            const Price bid = keeps ? offered->second : bid_by(record, zone, seen);
            offered_[zone.zone] = bid;
            outbid = outbid || (bid > Price{} && zone.spot_price > bid);
            decision.zone_bids->push_back({zone.zone, bid});
        }
        decision.reason = anew ? "quantile of the prices seen" : "as before";
        // Time alone raises the quantile of a high price: while it keeps us out, look again.
        if (outbid) decision.ask_again_in = rule_.rebid_every - (seen.now - offered_at_);
        return decision;
    }

    Price bid_by(const PriceRecord& record, const ZoneView& zone, const Observation& seen) const {
        const Price on_demand = pool_price(zone, Market::on_demand, seen);
        const Price most = share_of(on_demand, rule_.factor);
        if (record.seen_for() < rule_.warm_up) return most;
        const Price least = share_of(on_demand, rule_.floor);
        Price bid = std::max(share_of(record.quantile(rule_.quantile), 1), least);
        if (most > Price{}) bid = std::min(bid, most);
        return std::max(bid, Price::of(1));  // none would mean the on-demand price
    }

    BidRule rule_;
    std::map<ZoneId, PriceRecord> records_;
    std::map<ZoneId, Price> offered_;
    Instant offered_at_;
};

void read_quantile(ConfigReader& parameters, BidRule& rule) {
    rule.quantile = parameters.number("quantile", 0, 1, 0.9);
    rule.window = bounded_duration(parameters, "window", minutes(1), days(365), days(7));
    rule.warm_up = bounded_duration(parameters, "warm_up", Duration{}, days(365), days(1));
    if (rule.warm_up > rule.window) {
        parameters.fail("warm_up", "expected at most \"window\"");
    }
    rule.rebid_every = bounded_duration(parameters, "rebid_every", minutes(1), days(365), hours(1));
    rule.floor = parameters.number("floor", 0, 1, 0);
}

}  // namespace

std::unique_ptr<Policy> make_bid(ConfigReader& parameters) {
    static constexpr std::array<std::string_view, 3> rules{"fixed", "on_demand", "quantile"};
    const std::string name = parameters.one_of("rule", rules, "on_demand");
    BidRule rule;
    if (name == "fixed") {
        rule.kind = BidRule::Kind::fixed;
        rule.price = parameters.price("price");
        if (rule.price <= Price{}) parameters.fail("price", "expected more than 0 USD/h");
        return std::make_unique<Bid>(rule);
    }
    rule.factor = parameters.number("factor", 0.01, 100, 1);
    if (name == "quantile") {
        rule.kind = BidRule::Kind::quantile;
        read_quantile(parameters, rule);
        if (rule.floor > rule.factor) parameters.fail("floor", "expected at most \"factor\"");
    }
    return std::make_unique<Bid>(rule);
}

}  // namespace ukemi::policies
