// read_market.cpp — the section "market": where capacity and prices come from, and billing.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/key_notes.hpp"
#include "scenarios/reader/sections.hpp"
#include "sim/jobs/group_market.hpp"
#include "traces/market_file.hpp"

namespace ukemi::scenarios {

namespace {

Price bounded_price(ConfigReader& config, std::string_view key) {
    constexpr Price most = Price::of(1'000'000'000'000);  // 1000 USD/h
    const Price price = config.price(key);
    if (price > most) {
        config.fail(key, fmt::format("expected at most {}, found {}", format_price(most),
                                     format_price(price)));
    }
    return price;
}

// Of one place: how many machines there are, and at which price.
ZoneSource read_series(ConfigReader& config, const std::filesystem::path& folder,
                       const ZoneSource& general) {
    ZoneSource zone;
    const auto path = [&](std::string_view key) -> std::filesystem::path {
        if (!config.has(key)) return {};
        const std::filesystem::path given = config.text(key);
        return given.empty() || given.is_absolute() ? given : folder / given;
    };
    zone.availability = path("availability");
    zone.price = path("price");
    const bool own_price = config.has("spot_price");
    zone.spot_price = own_price ? bounded_price(config, "spot_price") : general.spot_price;
    zone.spot_price_at = own_price ? config.path() : general.spot_price_at;
    return zone;
}

ZoneSource read_zone(ConfigReader& config, const std::filesystem::path& folder,
                     const ZoneSource& general, const std::optional<Price>& on_demand_price) {
    ZoneSource zone = read_series(config, folder, general);
    if (config.has("on_demand_price")) {
        zone.on_demand_price = bounded_price(config, "on_demand_price");
    } else if (on_demand_price) {
        zone.on_demand_price = *on_demand_price;
    } else {
        config.fail("", "missing key \"on_demand_price\"");
    }
    if (config.has("region")) zone.region = config.text("region");
    constexpr double fastest = 1000;
    zone.speed_per_mille =
        static_cast<std::int32_t>(round_nearest(config.number("speed", 0.001, fastest, 1) * 1000));
    return zone;
}

void read_generator(ConfigReader& market, const std::filesystem::path& folder,
                    MarketSource& source) {
    auto generate = market.object_if_present("generate");
    if (!generate) return;
    for (const std::string_view other : {"availability", "price", "zones"}) {
        if (!market.has(other)) continue;
        market.fail("", fmt::format("expected either \"generate\" or \"{}\", found both", other));
    }
    std::vector<std::string_view> names;
    for (const traces::MarketParameters& each : traces::all_market_parameters())
        names.push_back(each.name);
    constexpr std::string_view fitted = ".json";  // what ukemi fit writes
    const std::string chosen = generate->name_or_file("market", names, fitted);
    if (chosen.ends_with(fitted)) {
        const std::filesystem::path given = chosen;
        source.generator_parameters =
            traces::read_market_parameters(given.is_absolute() ? given : folder / given);
        source.generator = source.generator_parameters->name;
    } else {
        source.generator = chosen;
        source.generator_parameters = *std::ranges::find(
            traces::all_market_parameters(), source.generator, &traces::MarketParameters::name);
    }
    source.generator_zones = static_cast<std::int32_t>(generate->integer("zones", 1, 1000, 1));
    source.generator_length = bounded_duration(*generate, "length", hours(1), run_longest);
    constexpr Duration zone_time_most = days(20'000);  // some hundred megabytes at most
    const Duration length_most = nanoseconds(zone_time_most.raw() / source.generator_zones);
    if (source.generator_length > length_most) {
        generate->fail("length",
                       fmt::format("expected at most {} in all {} zones together, found "
                                   "{} in each",
                                   format_duration(zone_time_most), source.generator_zones,
                                   format_duration(source.generator_length)));
    }
    generate->finish();
}

void read_zones(ConfigReader& config, const std::filesystem::path& folder, MarketSource& source) {
    ZoneSource general;
    std::optional<Price> on_demand_price;
    if (!config.has("zones")) {
        source.zones.push_back(read_zone(config, folder, general, on_demand_price));
        return;
    }
    for (const std::string_view alone : {"availability", "price"}) {
        if (!config.has(alone)) continue;
        config.fail("", fmt::format("expected \"{}\" in each of the \"zones\", found it beside "
                                    "them",
                                    alone));
    }
    if (config.has("spot_price")) {
        general.spot_price = bounded_price(config, "spot_price");
        general.spot_price_at = config.path();
    }
    if (config.has("on_demand_price")) on_demand_price = bounded_price(config, "on_demand_price");
    for (ConfigReader& zone : config.objects("zones")) {
        ZoneSource one = read_zone(zone, folder, general, on_demand_price);
        one.name = zone.text("name");
        if (one.name.empty()) zone.fail("name", "expected a name, found \"\"");
        if (zone.has("instance")) one.instance_type = zone.text("instance");
        if (std::ranges::find(source.zones, one.name, &ZoneSource::name) != source.zones.end()) {
            zone.fail("name", fmt::format("two zones are called \"{}\"", one.name));
        }
        zone.finish();
        source.zones.push_back(std::move(one));
    }
    if (source.zones.empty()) config.fail("zones", "expected at least one zone");
}

// What the rows of a file mean, and what holds after the last.
void read_rows(ConfigReader& config, MarketSource& source) {
    static constexpr std::array<std::string_view, 3> ones{"as_documented", "available",
                                                          "unavailable"};
    const std::string one = config.one_of("one_means", ones, "as_documented");
    source.polarity = one == "available"     ? traces::Polarity::one_is_available
                      : one == "unavailable" ? traces::Polarity::one_is_unavailable
                                             : traces::Polarity::as_documented;
    static constexpr std::array<std::string_view, 3> rules{"end", "repeat", "hold"};
    const std::string after = config.one_of("after_last_row", rules, "end");
    source.after_last_row =
        static_cast<sim::AfterLastRow>(std::ranges::find(rules, after) - rules.begin());
}

}  // namespace

sim::GroupMarket read_group_market(ConfigReader config, const std::filesystem::path& file,
                                   std::uint64_t seed, std::int32_t machines) {
    Scenario scenario;
    scenario.file = file;
    scenario.job.plan.workers_max = machines;
    MarketSource& source = scenario.market;
    source.path = config.path();
    const std::filesystem::path folder = file.parent_path();
    read_generator(config, folder, source);
    if (source.generator_zones > 1) {
        config.fail("generate", "expected one zone: machines of a group are sold in one");
    }
    source.zones.push_back(read_series(config, folder, {}));
    const ZoneSource& zone = source.zones.front();
    const bool is_known = !zone.availability.empty() || !zone.price.empty() || zone.spot_price;
    if (!is_known && source.generator.empty()) {
        config.fail("",
                    "expected \"availability\", \"price\", \"generate\" or a "
                    "\"spot_price\"");
    }
    read_rows(config, source);
    source.notice = bounded_duration(config, "notice", Duration{}, pause_longest, Duration{});
    config.finish();
    sim::GroupMarket market;
    if (KeyExplorer::of(config.file()) != nullptr) return market;  // only keys are looked for
    const sim::MarketData data = make_market(scenario, seed).data;
    if (data.zones.size() > 1) {
        config.fail("availability", "expected one zone: machines of a group are sold in one");
    }
    market.launchable = data.zones.front().launchable;
    market.price = data.zones.front().spot_price;
    market.after_last_row = data.after_last_row;
    market.notice = data.notice;
    return market;
}

void read_market(ConfigReader config, const std::filesystem::path& folder, Scenario& scenario) {
    MarketSource& source = scenario.market;
    read_generator(config, folder, source);
    read_zones(config, folder, source);
    static constexpr std::array<std::string_view, 2> prices{"trace", "scenario"};
    source.price_from_said = config.has("price_from");
    source.price_from_trace = config.one_of("price_from", prices, "trace") == "trace";
    for (std::size_t zone = 0; !source.price_from_trace && zone < source.zones.size(); ++zone) {
        if (source.zones[zone].spot_price) continue;
        config.fail("price_from", "\"scenario\" needs a \"spot_price\" in the market or its zones");
    }
    read_rows(config, source);
    static constexpr std::array<std::string_view, 2> losses{"drawn", "recorded"};
    source.recorded_losses = config.one_of("losses", losses, losses[0]) == losses[1];
    if (source.recorded_losses && source.after_last_row == sim::AfterLastRow::repeat) {
        config.fail("losses",
                    "\"recorded\" goes with \"end\" or \"hold\" at after_last_row: a "
                    "machine is lost once");
    }
    if (source.recorded_losses && !source.generator.empty()) {
        config.fail("losses", "\"recorded\" needs a trace, and this market is generated");
    }
    source.provisioning =
        bounded_duration(config, "provisioning", Duration{}, pause_longest, Duration{});
    read_market_rules(config, scenario);
    config.finish();
}

}  // namespace ukemi::scenarios
