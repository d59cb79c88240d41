// market_file.cpp — reads with the strict reader of scenarios, writes in the order of the struct.
#include "traces/market_file.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/config_reader.hpp"
#include "base/quantity.hpp"
#include "base/read_file.hpp"
#include "base/unit_text.hpp"

namespace ukemi::traces {

namespace {

constexpr double hours_max = 1e9;
constexpr double usd_max = 1e6;

ShortOrLong read_wait(ConfigReader& config, std::string_view key) {
    ConfigReader object = config.object(key);
    const ShortOrLong wait{object.number("short_share", 0, 1),
                           object.number("short_h_mean", 0, hours_max),
                           object.number("long_h_mean", 0, hours_max)};
    object.finish();
    return wait;
}

// A record without prices has no such section. A price of nothing is refused: it would make every
// policy free.
std::optional<PriceParameters> read_price(ConfigReader& config) {
    auto found = config.object_if_present("price");
    if (!found) return std::nullopt;
    ConfigReader& object = *found;
    PriceParameters price{};
    price.usd_floor = object.number("usd_floor", 0, usd_max);
    price.usd_mean = object.number("usd_mean", price.usd_floor, usd_max);
    if (price.usd_mean <= 0) {
        object.fail("usd_mean",
                    "expected more than 0 (a market without recorded prices has no \"price\": the "
                    "scenario says its \"spot_price\")");
    }
    price.usd_max = object.number("usd_max", price.usd_mean, usd_max);
    price.changes_per_day = object.number("changes_per_day", 0, 86'400);
    price.step_share_mean = object.number("step_share_mean", 0, 1e3);
    price.spikes_per_day = object.number("spikes_per_day", 0, 86'400);
    price.spike_h_mean = object.number("spike_h_mean", 0, hours_max);
    price.usd_spike_min = object.number("usd_spike_min", 0, usd_max);
    price.usd_spike_mean = object.number("usd_spike_mean", price.usd_spike_min, usd_max);
    object.finish();
    return price;
}

void read_extras(ConfigReader& config, MarketParameters& parameters) {
    if (config.has("quiet_after_none")) {
        parameters.quiet_after_none = read_wait(config, "quiet_after_none");
    }
    if (auto daily = config.object_if_present("daily")) {
        parameters.daily.depth = daily->number("depth", 0, 0.9);
        parameters.daily.worst_hour_utc = daily->number("worst_hour_utc", 0, 24);
        daily->finish();
    }
    if (auto shared = config.object_if_present("shared")) {
        parameters.shared.zones_per_region =
            static_cast<std::int32_t>(shared->integer("zones_per_region", 1, 1000));
        parameters.shared.per_day = shared->number("per_day", 0, 86'400);
        parameters.shared.hit_share = shared->number("hit_share", 0, 1);
        parameters.shared.outage_factor = shared->number("outage_factor", 0, 1e6, 1);
        shared->finish();
    }
    if (auto law = config.object_if_present("lifetimes")) {
        parameters.lifetimes.share = law->number("share", 0, 1);
        parameters.lifetimes.early_h = law->number("early_h", 1e-6, hours_max);
        parameters.lifetimes.late_h = law->number("late_h", 1e-6, 1e4);
        parameters.lifetimes.cap_h = law->number("cap_h", 1e-6, 1e5);
        law->finish();
    }
}

// Whole numbers from `least` on, each above the one before if they are `rising`.
std::vector<std::int64_t> read_integers(ConfigReader& config, std::string_view key, double most,
                                        bool rising) {
    std::vector<std::int64_t> list;
    for (const double number : config.numbers(key, 0, most)) {
        const std::int64_t whole = round_nearest(number);
        const bool too_low = rising && (list.empty() ? whole != 0 : whole <= list.back());
        if (static_cast<double>(whole) != number || too_low) {
            config.fail(key, rising ? "expected whole numbers from 0 on, each above the one before"
                                    : "expected whole numbers");
        }
        list.push_back(whole);
    }
    return list;
}

void read_recorded(ConfigReader& config, MarketParameters& parameters) {
    auto recorded = config.object_if_present("recorded");
    if (!recorded) return;
    constexpr std::int64_t seconds_most = 10'000'000'000;
    parameters.recorded.mean = recorded->duration("stretch_mean");
    if (parameters.recorded.mean < parameters.sampling || parameters.recorded.mean > days(3660)) {
        recorded->fail("stretch_mean", "expected from the sampling to 3660 d");
    }
    for (ConfigReader& one : recorded->objects("zones")) {
        RecordedZone zone{one.text("zone"),
                          one.integer("begins_s", 0, seconds_most),
                          one.integer("length_s", 1, seconds_most),
                          {},
                          {}};
        zone.at_s = read_integers(one, "at_s", static_cast<double>(zone.length_s - 1), true);
        for (const std::int64_t held : read_integers(one, "held", parameters.capacity, false)) {
            zone.held.push_back(static_cast<std::int32_t>(held));
        }
        if (zone.at_s.empty() || zone.held.size() != zone.at_s.size()) {
            one.fail("held", "expected as many as in \"at_s\", and one at least");
        }
        one.finish();
        parameters.recorded.zones.push_back(std::move(zone));
    }
    if (parameters.recorded.zones.empty()) recorded->fail("zones", "expected at least one zone");
    recorded->finish();
}

MarketParameters read(ConfigReader config) {
    MarketParameters parameters{};
    parameters.name = config.text("name");
    if (parameters.name.empty()) config.fail("name", "expected a name, found none");
    parameters.summary = config.text("summary", "");
    parameters.capacity = static_cast<std::int32_t>(config.integer("capacity", 1, 1'000'000));
    parameters.sampling = config.duration("sampling");
    if (parameters.sampling < market_sampling_min || parameters.sampling > market_sampling_max) {
        config.fail("sampling", "expected from 1 s to 1 d");
    }
    parameters.has_losses = config.flag("has_losses", true);
    parameters.quiet = read_wait(config, "quiet");
    parameters.total_loss_share = config.number("total_loss_share", 0, 1);
    parameters.burst_share_mean = config.number("burst_share_mean", 0, 1e3);
    parameters.outage = read_wait(config, "outage");
    parameters.full_refill_share = config.number("full_refill_share", 0, 1);
    parameters.refill_step_mean = config.number("refill_step_mean", 1, 1e6);
    parameters.refill_gap_h_mean = config.number("refill_gap_h_mean", 0, hours_max);
    parameters.price = read_price(config);
    read_extras(config, parameters);
    read_recorded(config, parameters);
    config.finish();
    return parameters;
}

nlohmann::ordered_json wait_json(const ShortOrLong& wait) {
    return {{"short_share", wait.short_share},
            {"short_h_mean", wait.short_h_mean},
            {"long_h_mean", wait.long_h_mean}};
}

nlohmann::ordered_json price_json(const PriceParameters& price) {
    return {{"usd_floor", price.usd_floor},
            {"usd_mean", price.usd_mean},
            {"usd_max", price.usd_max},
            {"changes_per_day", price.changes_per_day},
            {"step_share_mean", price.step_share_mean},
            {"spikes_per_day", price.spikes_per_day},
            {"spike_h_mean", price.spike_h_mean},
            {"usd_spike_min", price.usd_spike_min},
            {"usd_spike_mean", price.usd_spike_mean}};
}

}  // namespace

MarketParameters read_market_parameters(const std::filesystem::path& file) {
    return read(ConfigReader::from_file(file));
}

MarketParameters read_market_parameters_text(std::string_view text, std::string_view file) {
    return read(ConfigReader::from_text(text, file));
}

std::string to_json(const MarketParameters& p) {
    nlohmann::ordered_json json = {
        {"name", p.name},
        {"summary", p.summary},
        {"capacity", p.capacity},
        {"sampling", format_duration(p.sampling)},
        {"has_losses", p.has_losses},
        {"quiet", wait_json(p.quiet)},
        {"total_loss_share", p.total_loss_share},
        {"burst_share_mean", p.burst_share_mean},
        {"outage", wait_json(p.outage)},
        {"full_refill_share", p.full_refill_share},
        {"refill_step_mean", p.refill_step_mean},
        {"refill_gap_h_mean", p.refill_gap_h_mean},
    };
    if (p.price) json["price"] = price_json(*p.price);
    if (p.quiet_after_none) json["quiet_after_none"] = wait_json(*p.quiet_after_none);
    if (p.daily.depth > 0) {
        json["daily"] = {{"depth", p.daily.depth}, {"worst_hour_utc", p.daily.worst_hour_utc}};
    }
    if (p.shared.per_day > 0) {
        json["shared"] = {{"zones_per_region", p.shared.zones_per_region},
                          {"per_day", p.shared.per_day},
                          {"hit_share", p.shared.hit_share},
                          {"outage_factor", p.shared.outage_factor}};
    }
    if (p.lifetimes.is_on()) {
        json["lifetimes"] = {{"share", p.lifetimes.share},
                             {"early_h", p.lifetimes.early_h},
                             {"late_h", p.lifetimes.late_h},
                             {"cap_h", p.lifetimes.cap_h}};
    }
    if (!p.recorded.zones.empty()) {
        nlohmann::ordered_json zones;
        for (const RecordedZone& zone : p.recorded.zones) {
            zones.push_back({{"zone", zone.zone},
                             {"begins_s", zone.begins_s},
                             {"length_s", zone.length_s},
                             {"at_s", zone.at_s},
                             {"held", zone.held}});
        }
        json["recorded"] = {{"stretch_mean", format_duration(p.recorded.mean)}, {"zones", zones}};
    }
    return json.dump(2) + "\n";
}

}  // namespace ukemi::traces
