// read_market_rules.cpp — of the section "market": by what rules it gives, takes and charges.
//
// A provider and a date stand for a whole set of rules; what the scenario says itself comes before.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "records/provider_rules.hpp"
#include "scenarios/reader/sections.hpp"
#include "traces/timestamp.hpp"

namespace ukemi::scenarios {

namespace {

bool is_day(const std::string& text) {
    return text.size() == 10 && traces::parse_timestamp(text + "T00:00:00Z").has_value();
}

// No rules at all without a "provider".
records::ProviderRules read_provider(ConfigReader& market) {
    if (!market.has("provider")) {
        if (market.has("date")) market.fail("date", "goes with a \"provider\", and there is none");
        return {};
    }
    const std::string provider = market.one_of("provider", records::provider_names());
    const std::string day = market.text("date");
    if (!is_day(day)) {
        market.fail("date",
                    fmt::format("expected a day such as \"2016-05-01\", found \"{}\"", day));
    }
    const records::ProviderRules* rules = records::provider_rules_on(provider, day);
    if (rules != nullptr) return *rules;
    const auto first = std::ranges::find(records::all_provider_rules(), provider,
                                         &records::ProviderRules::provider);
    market.fail("date", fmt::format("{} sells spot machines since {}, found {}", provider,
                                    first->since, day));
}

void read_billing(ConfigReader& market, sim::MarketRules& rules) {
    records::BillingRule& spot = rules.spot_billing;
    if (auto config = market.object_if_present("billing")) {
        const auto time = [&](std::string_view key, Duration otherwise) {
            return bounded_duration(*config, key, Duration{}, pause_longest, otherwise);
        };
        spot.granularity = time("granularity", spot.granularity);
        spot.minimum = time("minimum", spot.minimum);
        if (config->has("granularity")) rules.on_demand_billing.granularity = spot.granularity;
        if (config->has("minimum")) rules.on_demand_billing.minimum = spot.minimum;
        spot.free_if_taken_within = time("free_if_taken_within", spot.free_if_taken_within);
        spot.last_part_free_if_taken =
            config->flag("last_part_free_if_taken", spot.last_part_free_if_taken);
        static constexpr std::array<std::string_view, 2> moments{"moment", "beginning"};
        spot.price_at_beginning =
            config->one_of("price_of", moments, moments[spot.price_at_beginning ? 1 : 0]) ==
            moments[1];
        for (const auto& [key, used] :
             {std::pair{"last_part_free_if_taken", spot.last_part_free_if_taken},
              std::pair{"price_of", spot.price_at_beginning}}) {
            if (used && spot.granularity <= Duration{}) {
                config->fail(key, "needs a \"granularity\": the step it is about");
            }
        }
        if (spot.price_at_beginning && spot.granularity < whole_seconds(1)) {
            config->fail("granularity", "expected at least 1 s where a step has one price");
        }
        config->finish();
    }
    if (auto config = market.object_if_present("on_demand_billing")) {
        records::BillingRule& rule = rules.on_demand_billing;
        rule.granularity =
            bounded_duration(*config, "granularity", Duration{}, pause_longest, rule.granularity);
        rule.minimum =
            bounded_duration(*config, "minimum", Duration{}, pause_longest, rule.minimum);
        config->finish();
    }
}

sim::TransferRow read_row(ConfigReader& config) {
    sim::TransferRow row;
    row.from = config.text("from", "*");
    row.to = config.text("to", "*");
    row.price = config.egress_price("price");
    constexpr EgressPrice most = EgressPrice::of(1'000'000'000'000);
    if (row.price > most) config.fail("price", "expected at most 1000 USD/GB");
    if (config.has("bandwidth")) {
        row.bandwidth = config.bandwidth("bandwidth");
        if (row.bandwidth < BytesPerSecond::of(125)) {
            config.fail("bandwidth", "expected at least 1 Kbit/s");
        }
    }
    row.both_ways = config.flag("both_ways", true);
    for (const auto& [key, text] : {std::pair{"from", &row.from}, std::pair{"to", &row.to}}) {
        if (text->size() > 100 || std::ranges::count(*text, '*') > 3) {
            config.fail(key, "expected at most 100 letters and three \"*\"");
        }
    }
    config.finish();
    return row;
}

void read_transfer(ConfigReader& market, Scenario& scenario) {
    if (!market.has("transfer")) return;
    sim::TransferRules& transfer = scenario.market.transfer;
    for (ConfigReader& row : market.objects("transfer")) transfer.rows.push_back(read_row(row));
    if (transfer.rows.empty()) market.fail("transfer", "expected at least one row");
    if (!scenario.model_size) {
        market.fail("transfer", "needs a \"model_size\" in the job: the size of what is moved");
    }
    transfer.size = *scenario.model_size;
    constexpr Bytes most = bytes(1'000'000'000'000'000);
    if (transfer.size > most) {
        throw InputError(market.file(), "/job/model_size", "expected at most 1000 TB");
    }
    for (const sim::TransferRow& row : transfer.rows) {
        if (row.bandwidth.raw() <= 0 || transfer.size / row.bandwidth <= pause_longest) continue;
        market.fail("transfer", fmt::format("a move from \"{}\" to \"{}\" would take more than {}",
                                            row.from, row.to, format_duration(pause_longest)));
    }
}

// Machines that are slower, or faster, than the market promises.
void read_speeds(ConfigReader& market, sim::MarketRules& rules) {
    const auto per_mille = [](double speed) {
        return static_cast<std::int32_t>(round_nearest(speed * 1000));
    };
    if (market.has("machine_speeds")) {
        for (const double speed : market.numbers("machine_speeds", 0.01, 100)) {
            rules.machine_speeds.push_back(per_mille(speed));
        }
    }
    auto slow = market.object_if_present("slow_machines");
    if (!slow) return;
    rules.slow_share = slow->number("share", 0, 1);
    rules.slow_speed = per_mille(slow->number("speed", 0.01, 100));
    slow->finish();
}

}  // namespace

void read_market_rules(ConfigReader& market, Scenario& scenario) {
    const records::ProviderRules provider = read_provider(market);
    sim::MarketRules& rules = scenario.market.rules;
    rules.spot_billing = provider.spot;
    rules.on_demand_billing = provider.on_demand;
    scenario.market.notice =
        bounded_duration(market, "notice", Duration{}, pause_longest, provider.notice);
    read_billing(market, rules);
    rules.bidding = market.flag("bidding", provider.bidding);
    rules.lifetime_max =
        bounded_duration(market, "lifetime_max", Duration{}, run_longest, provider.lifetime_max);
    if (rules.lifetime_max > Duration{} && rules.lifetime_max < minutes(1)) {
        market.fail("lifetime_max", "expected at least 1 min");
    }
    if (rules.lifetime_max > Duration{} && rules.lifetime_max <= scenario.market.notice) {
        market.fail("lifetime_max", fmt::format("expected more than the notice of {}, found {}",
                                                format_duration(scenario.market.notice),
                                                format_duration(rules.lifetime_max)));
    }
    rules.notice_arrives = market.number("notice_arrives", 0, 1, 1);
    rules.blockout = bounded_duration(market, "blockout", Duration{}, pause_longest, Duration{});
    rules.launch_failure = market.number("launch_failure", 0, 0.999, 0);
    rules.launch_retry =
        bounded_duration(market, "launch_retry", whole_seconds(1), pause_longest, minutes(1));
    read_speeds(market, rules);
    read_transfer(market, scenario);
}

}  // namespace ukemi::scenarios
