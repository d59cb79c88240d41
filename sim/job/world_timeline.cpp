// world_timeline.cpp — the rows of a run's timeline: after each event, and where learning bends
// between two of them.
#include <algorithm>

#include "sim/job/world.hpp"

namespace ukemi::sim {

records::TimelineRow World::row_at(Instant now) const {
    records::TimelineRow row;
    row.at = now;
    row.phase = trainer_->phase();
    row.spot_held = fleet_.spot_held();
    row.on_demand_held = fleet_.on_demand_held();
    row.workers = trainer_->workers();
    row.transition_phase = transition_phase();
    row.spot_price = market_.spot_price(ZoneId{0});
    std::pair prices{row.spot_price, row.spot_price};
    for (std::uint32_t zone = 0; zone < market_.zone_count(); ++zone) {
        row.spot_capacity += market_.spot_capacity(ZoneId{zone});
        prices.first = std::min(prices.first, market_.spot_price(ZoneId{zone}));
        prices.second = std::max(prices.second, market_.spot_price(ZoneId{zone}));
    }
    if (market_.zone_count() > 1) row.spot_prices = prices;
    row.spent = in_all(fleet_.metered(now), egress_);
    row.spot_losses = fleet_.revocations();
    return row;
}

void World::show(records::TimelineRow& row, const Learned& learned) const {
    row.learned = learned.share;
    row.accuracy = learned.metric;
    row.noise_scale = learned.noise_scale;
    row.batch =
        policies::samples_per_step(controller_.plan(), std::max(row.workers, job_.workers_min));
}

// Between events only training goes on, and what it learns need not do so in straight lines.
void World::record_way(Instant next) {
    if (!setup_.keep_timeline) return;
    for (const LearnedAt& point : trainer_->learned_on_the_way(next)) {
        records::TimelineRow row = row_at(point.at);
        row.samples_done = point.samples_done;
        show(row, point.learned);
        timeline_.push_back(row);
    }
}

void World::record_timeline() {
    if (!setup_.keep_timeline) return;
    const Instant now = queue_.now();
    trainer_->report(now);
    records::TimelineRow row = row_at(now);
    row.samples_done = controller_.samples_done();
    if (const auto learned = trainer_->learned()) show(row, *learned);
    if (!timeline_.empty() && timeline_.back().at == now) timeline_.pop_back();
    timeline_.push_back(row);
}

}  // namespace ukemi::sim
