#include "sim/job/run_timeline.hpp"

#include <algorithm>
#include <utility>

#include "sim/market/lease_bill.hpp"

namespace ukemi::sim {

records::TimelineRow RunTimeline::row_at(Instant now, const RowContext& context) const {
    const Fleet& fleet = parts_.fleet;
    const SpotMarket& market = parts_.market;
    records::TimelineRow row;
    row.at = now;
    row.phase = parts_.trainer.phase();
    row.spot_held = fleet.spot_held();
    row.on_demand_held = fleet.on_demand_held();
    row.workers = parts_.trainer.workers();
    row.transition_phase = context.phase;
    row.spot_price = market.spot_price(ZoneId{0});
    std::pair prices{row.spot_price, row.spot_price};
    for (std::uint32_t zone = 0; zone < market.zone_count(); ++zone) {
        row.spot_capacity += market.spot_capacity(ZoneId{zone});
        prices.first = std::min(prices.first, market.spot_price(ZoneId{zone}));
        prices.second = std::max(prices.second, market.spot_price(ZoneId{zone}));
    }
    if (market.zone_count() > 1) row.spot_prices = prices;
    row.spent = in_all(fleet.metered(now), context.egress);
    row.spot_losses = fleet.revocations();
    return row;
}

void RunTimeline::show(records::TimelineRow& row, const Learned& learned) const {
    row.learned = learned.share;
    row.accuracy = learned.metric;
    row.noise_scale = learned.noise_scale;
    row.batch = policies::samples_per_step(parts_.controller.plan(),
                                           std::max(row.workers, parts_.job.workers_min));
}

void RunTimeline::record_way(Instant next, const RowContext& context) {
    for (const LearnedAt& point : parts_.trainer.learned_on_the_way(next)) {
        // An event that the trainer is told nothing of comes after the same points.
        if (!rows_.empty() && point.at <= rows_.back().at) continue;
        records::TimelineRow row = row_at(point.at, context);
        row.samples_done = point.samples_done;
        show(row, point.learned);
        rows_.push_back(row);
    }
}

void RunTimeline::record(Instant now, const RowContext& context) {
    records::TimelineRow row = row_at(now, context);
    row.samples_done = parts_.controller.samples_done();
    if (const auto learned = parts_.trainer.learned()) show(row, *learned);
    if (!rows_.empty() && rows_.back().at == now) rows_.pop_back();
    rows_.push_back(row);
}

}  // namespace ukemi::sim
