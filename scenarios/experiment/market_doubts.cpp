#include "scenarios/experiment/market_doubts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "base/plain_text.hpp"
#include "base/unit_text.hpp"
#include "policies/codec_text.hpp"
#include "sim/learning/learning_model.hpp"

namespace ukemi::scenarios {

namespace {

struct Doubtful {
    const sim::MarketData& market;
    const std::map<std::string, bool>& typed_prices;
    const sim::JobSpec& job;
    std::vector<std::string>& doubts;
};

// The work with all machines from the first moment on, on demand.
Duration shortest(const Doubtful& at) {
    const sim::JobSpec& job = at.job;
    std::int32_t speed = 1;
    for (const sim::ZoneData& zone : at.market.zones) speed = std::max(speed, zone.speed_per_mille);
    Duration least = Duration::max();
    for (const std::int32_t size : {job.workers_min, job.instances_max}) {
        const std::int64_t per_step = policies::samples_per_step(job.plan, size);
        const std::int64_t steps = (job.samples_total + per_step - 1) / per_step;
        const policies::StepRate rate =
            policies::scaled(policies::rate_of(job.profile, job.plan, size), speed);
        least = std::min(least, policies::time_for(rate, steps));
    }
    return at.market.provisioning + job.profile.spawn + job.profile.restart + least;
}

// Up to a hundredth of an hour, or a second: reckoned times have nanoseconds that nobody asked for.
std::string rounded(Duration time) {
    const double step_s = time < hours(1) ? 1 : 36;
    return format_duration(seconds(step_s * std::ceil(to_seconds(time) / step_s - 1e-9)));
}

void doubt_dates(const Doubtful& at) {
    for (const sim::ZoneData& zone : at.market.zones) {
        if (!zone.one_is_undated) continue;
        at.doubts.push_back(
            fmt::format("zone \"{}\": of its availability and its prices only one "
                        "says when it was recorded; both are taken to begin at once",
                        zone.name));
    }
}

bool has_deadline(const Doubtful& at) { return at.job.deadline < Instant::never(); }

void doubt_length(const Doubtful& at) {
    if (at.market.after_last_row != sim::AfterLastRow::end) return;
    Duration end;
    for (const sim::ZoneData& zone : at.market.zones) {
        end = std::max(end, zone.capacity.end.since_start());
    }
    if (has_deadline(at) && Instant::at(end) < at.job.deadline) {
        at.doubts.push_back(
            fmt::format("ends after {}, before the deadline at {}: there is no spot after it",
                        format_duration(end), format_duration(at.job.deadline.since_start())));
    } else if (!has_deadline(at) && !at.job.learning && end < shortest(at)) {
        at.doubts.push_back(
            fmt::format("ends after {}, and the work takes {} at least: there is no spot after it",
                        format_duration(end), rounded(shortest(at))));
    }
}

void doubt_capacity(const Doubtful& at) {
    std::int64_t most = 0;
    for (const sim::ZoneData& zone : at.market.zones) {
        most += std::ranges::max_element(zone.launchable.steps, {}, [](const auto& step) {
                    return step.value;
                })->value;
    }
    if (most >= at.job.workers_min) return;
    at.doubts.push_back(
        fmt::format("never has the {} spot machines that the job needs at once: {} at most",
                    at.job.workers_min, most));
}

void doubt_deadline(const Doubtful& at) {
    if (!has_deadline(at)) return;
    const Duration limit = at.job.deadline.since_start();
    if (!at.job.learning && shortest(at) > limit) {
        at.doubts.push_back(
            fmt::format("the work does not fit the deadline of {} even on demand: it takes {}",
                        format_duration(limit), rounded(shortest(at))));
    }
    if (at.job.give_up_at < at.job.deadline) {
        at.doubts.push_back(fmt::format("runs give up after {}, before the deadline at {}",
                                        format_duration(at.job.give_up_at.since_start()),
                                        format_duration(limit)));
    }
    if (at.job.tick > limit) {
        at.doubts.push_back(fmt::format("the clock ticks every {}, later than the deadline at {}",
                                        format_duration(at.job.tick), format_duration(limit)));
    }
}

void doubt_prices(const Doubtful& at) {
    bool dear = true;
    bool free = true;
    bool on_demand_free = false;
    for (const sim::ZoneData& zone : at.market.zones) {
        on_demand_free = on_demand_free || zone.on_demand_price <= Price{};
        for (const auto& step : zone.spot_price.steps) {
            dear = dear && step.value >= zone.on_demand_price;
            free = free && step.value <= Price{};
        }
    }
    for (const auto& [section, is_used] : at.typed_prices) {
        if (is_used) continue;
        at.doubts.push_back(
            fmt::format("\"spot_price\" at {} is not used, the trace's own prices are "
                        "(\"price_from\" at /market says which are meant)",
                        section));
    }
    if (on_demand_free) at.doubts.emplace_back("on demand costs 0 USD/h: waiting for spot is vain");
    if (free) {
        at.doubts.emplace_back("spot costs 0 USD/h throughout: what is paid says nothing");
    } else if (dear) {
        at.doubts.emplace_back("spot is never cheaper than on demand");
    }
}

void doubt_speed(const Doubtful& at) {
    const sim::JobSpec& job = at.job;
    if (job.profile.step_time || job.profile.throughput.empty()) return;
    const std::int32_t known = job.profile.throughput.back().workers;
    if (job.instances_max <= known) return;
    at.doubts.push_back(
        fmt::format("{} machines are taken to be no faster than {}, where "
                    "\"throughput\" at /job ends",
                    job.instances_max, known));
}

// A codec or exchanges of pairs that make no difference to how long a step takes. (Real gradients
// have the exchanges of their own rule.)
void doubt_exchange(const Doubtful& at) {
    const sim::JobSpec& job = at.job;
    if (!job.profile.step_time) return;
    const policies::StepTime& step = *job.profile.step_time;
    if (job.plan.codec != policies::Codec::none && step.codecs.empty()) {
        at.doubts.push_back(
            fmt::format("codec {} of the first Plan takes no time and saves none: nothing at "
                        "/job/step_time says what codecs cost",
                        policies::text_of({job.plan.codec, job.plan.codec_level})));
    }
    const bool trains = job.learning != nullptr && job.learning->really_trains();
    const bool exchanges = !step.groups.empty() || !step.synchronisation.empty();
    const bool pairs = job.plan.synchronisation == policies::Synchronisation::pair_averaging;
    if (pairs && exchanges && !trains) {
        at.doubts.emplace_back(
            "pair_averaging of the first Plan is as fast as s_sgd: nothing at /job/step_time says "
            "what exchanges of pairs take");
    }
}

// How long the zones together carry the job's minimum at most.
Duration longest_spot(const Doubtful& at) {
    Duration longest;
    Duration since;
    bool there = false;
    std::vector<sim::CapacityCursor> cursors;
    for (const sim::ZoneData& zone : at.market.zones) {
        cursors.emplace_back(zone.capacity, at.market.after_last_row, true);
    }
    const Instant horizon = std::min(at.job.deadline, at.job.give_up_at);
    for (Instant now;;) {
        std::int64_t capacity = 0;
        Instant next = horizon;
        for (const sim::CapacityCursor& cursor : cursors) {
            capacity += cursor.value();
            next = std::min(next, cursor.next_at());
        }
        if (capacity >= at.job.workers_min && !there) since = now.since_start();
        there = capacity >= at.job.workers_min;
        if (there) longest = std::max(longest, next.since_start() - since);
        if (next >= horizon) return longest;
        now = next;
        for (sim::CapacityCursor& cursor : cursors) {
            while (cursor.next_at() <= now) cursor.advance();
        }
    }
}

void doubt_windows(const Doubtful& at) {
    const Duration before = at.market.provisioning + at.job.profile.spawn +
                            std::min(at.job.profile.restart, at.job.profile.resize);
    const Duration longest = longest_spot(at);
    if (longest <= Duration{} || longest > before) return;
    at.doubts.push_back(
        fmt::format("no spot lasts until training begins: {} at most, and a start takes {}",
                    format_duration(longest), format_duration(before)));
}

// It buys on demand alone, and that is the same everywhere.
bool needs_no_zone(const PolicyList& list, const sim::MarketData& market) {
    const sim::ZoneData& first = market.zones.front();
    const bool alike = std::ranges::all_of(market.zones, [&](const sim::ZoneData& zone) {
        return zone.on_demand_price == first.on_demand_price &&
               zone.speed_per_mille == first.speed_per_mille;
    });
    return alike && std::ranges::any_of(list.items, [](const PolicyList::Item& item) {
               return item.entry->name == "on_demand";
           });
}

bool chooses_zones(const PolicyList& list) {
    return std::ranges::any_of(make_policies(list), [](const auto& policy) {
        return policy->knobs().has(policies::Knob::zone);
    });
}

void doubt_zones(const Doubtful& at, std::span<const PolicyList> lists) {
    if (at.market.zones.size() < 2) return;
    std::string staying;
    for (const PolicyList& list : lists) {
        if (needs_no_zone(list, at.market)) continue;
        staying += (staying.empty() ? "" : ", ") + one_line(list.label());
    }
    if (staying.empty()) return;
    at.doubts.push_back(fmt::format(
        "{}: without a policy that chooses zones, all is bought in \"{}\", the first of {} zones "
        "(\"+cheapest_zone\" and \"+spread_zones\" after a list's name look at all)",
        shortened(staying, 300), one_line(at.market.zones.front().name), at.market.zones.size()));
}

}  // namespace

std::vector<PolicyList> without_choice_of_zones(std::span<const PolicyList> lists) {
    std::vector<PolicyList> staying;
    std::ranges::copy_if(lists, std::back_inserter(staying), std::not_fn(chooses_zones));
    return staying;
}

std::vector<std::string> doubts_about(const NamedMarket& market, const sim::JobSpec& job,
                                      std::span<const PolicyList> staying) {
    std::vector<std::string> doubts = market.findings;
    const Doubtful at{market.data, market.typed_prices, job, doubts};
    doubt_dates(at);
    doubt_length(at);
    doubt_capacity(at);
    doubt_deadline(at);
    doubt_prices(at);
    doubt_speed(at);
    doubt_exchange(at);
    doubt_windows(at);
    doubt_zones(at, staying);
    return doubts;
}

}  // namespace ukemi::scenarios
