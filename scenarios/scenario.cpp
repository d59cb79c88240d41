#include "scenarios/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "traces/generator.hpp"

namespace ukemi {

namespace {

constexpr std::int64_t instances_most = 100'000;

// {"1": "100 samples/s", "8": …} or, for work given as time, {"1": 1.0, "8": 6.5}.
std::vector<ThroughputPoint> read_throughput(ConfigReader& job, bool by_time, std::int64_t batch) {
    std::vector<ThroughputPoint> points;
    if (by_time && !job.has("throughput")) {
        points.push_back({1, {1, nanoseconds(1)}});
        return points;
    }
    ConfigReader table = job.object("throughput");
    for (const std::string& key : table.keys()) {
        std::int32_t workers = 0;
        const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), workers);
        if (error != std::errc{} || end != key.data() + key.size() || workers < 1 ||
            workers > instances_most) {
            table.fail("", fmt::format("expected numbers of instances as keys, found \"{}\"", key));
        }
        StepRate rate;
        if (by_time) {
            // A nanosecond of work is a step; 1e-9 of a speed is kept.
            const double speed = table.number(key, 1e-3, 1e5);
            rate = {round_nearest(speed * 1e9), whole_seconds(1)};
            if (rate.steps == rate.per.raw()) rate = {1, nanoseconds(1)};
        } else {
            const double samples_per_s = table.rate(key, "samples/s");
            const double step_s = static_cast<double>(batch) / samples_per_s;
            if (!(step_s >= 1e-6 && step_s <= 1e6)) {
                table.fail(key, fmt::format("a step of {} s is not between 1e-6 and 1e6 s", step_s));
            }
            rate = {1, seconds(step_s)};
        }
        points.push_back({workers, rate});
    }
    std::ranges::sort(points, {}, &ThroughputPoint::workers);
    for (std::size_t i = 1; i < points.size(); ++i) {
        if (points[i].workers == points[i - 1].workers) table.fail("", "a number appears twice");
    }
    if (points.empty()) job.fail("throughput", "expected at least one point");
    table.finish();
    return points;
}

void read_checkpoint(ConfigReader& job, JobProfile& profile) {
    auto checkpoint = job.object_if_present("checkpoint");
    if (!checkpoint) return;
    static constexpr std::array<std::string_view, 2> kinds{"lossless", "saved"};
    profile.lossless = checkpoint->one_of("kind", kinds, "saved") == "lossless";
    if (!profile.lossless) {
        profile.checkpoint = checkpoint->duration("cost");
        profile.restore = checkpoint->duration("restore", Duration{});
        static constexpr std::array<std::string_view, 2> states{"replicated", "sharded"};
        profile.sharded = checkpoint->one_of("state", states, "replicated") == "sharded";
    }
    checkpoint->finish();
}

void read_clock(ConfigReader& job_config, JobSpec& job) {
    auto clock = job_config.object_if_present("clock");
    if (!clock) return;
    job.tick = clock->duration("tick");
    if (job.tick < milliseconds(1)) clock->fail("tick", "expected at least 1 ms");
    static constexpr std::array<std::string_view, 2> orders{"before_decision", "after_decision"};
    job.completion_after_decision =
        clock->one_of("completion", orders, "before_decision") == "after_decision";
    clock->finish();
}

void read_job(ConfigReader config, Scenario& scenario) {
    JobSpec& job = scenario.job;
    const bool by_time = config.has("work");
    if (by_time == config.has("samples")) {
        config.fail("", "expected either \"work\" (a duration) or \"samples\" (a number)");
    }
    std::int64_t batch = 1;
    if (by_time) {
        const Duration work = config.duration("work");
        if (work < whole_seconds(1)) config.fail("work", "expected at least 1 s");
        job.samples_total = work.raw();
    } else {
        constexpr std::int64_t most = 1'000'000'000'000'000;
        job.samples_total = config.integer("samples", 1, most);
        batch = config.integer("batch", 1, 1'000'000'000);
        job.samples_per_epoch = config.integer("samples_per_epoch", 1, most, job.samples_total);
    }
    job.plan.global_batch = batch;
    job.profile.throughput = read_throughput(config, by_time, batch);
    if (config.has("deadline")) {
        const Duration deadline = config.duration("deadline");
        if (deadline <= Duration{}) config.fail("deadline", "expected a positive duration");
        job.deadline = Instant::at(deadline);
    }
    job.profile.restart = config.duration("restart", Duration{});
    job.profile.resize = config.duration("resize", job.profile.restart);
    read_checkpoint(config, job.profile);
    read_clock(config, job);
    if (config.has("give_up_after")) scenario.give_up_after = config.duration("give_up_after");
    config.finish();
}

void read_cluster(ConfigReader config, Scenario& scenario) {
    JobSpec& job = scenario.job;
    scenario.market.instance_type = config.text("instance", "");
    const auto count = [&](std::string_view key, std::int64_t otherwise) {
        return static_cast<std::int32_t>(config.integer(key, 1, instances_most, otherwise));
    };
    const std::int32_t fixed = count("count", 0);
    const std::int32_t most = count("count_max", fixed == 0 ? 1 : fixed);
    job.workers_min = count("count_min", fixed == 0 ? 1 : fixed);
    job.plan.workers_max = fixed == 0 ? most : fixed;
    if (fixed != 0 && (config.has("count_max") || config.has("count_min"))) {
        config.fail("count", "expected either \"count\" or \"count_min\" and \"count_max\"");
    }
    if (job.workers_min > job.plan.workers_max) {
        config.fail("count_min", fmt::format("{} is more than the {} at most", job.workers_min,
                                             job.plan.workers_max));
    }
    config.finish();
}

ZoneSource read_zone(ConfigReader& config, const std::filesystem::path& folder,
                     const std::optional<Price>& spot_price,
                     const std::optional<Price>& on_demand_price) {
    ZoneSource zone;
    const auto path = [&](std::string_view key) {
        const std::filesystem::path given = config.text(key, "");
        return given.empty() || given.is_absolute() ? given : folder / given;
    };
    zone.availability = path("availability");
    zone.price = path("price");
    zone.spot_price = config.has("spot_price") ? config.price("spot_price") : spot_price;
    if (config.has("on_demand_price")) {
        zone.on_demand_price = config.price("on_demand_price");
    } else if (on_demand_price) {
        zone.on_demand_price = *on_demand_price;
    } else {
        config.fail("", "missing key \"on_demand_price\"");
    }
    return zone;
}

void read_generator(ConfigReader& market, MarketSource& source) {
    auto generate = market.object_if_present("generate");
    if (!generate) return;
    std::vector<std::string_view> names;
    for (const MarketParameters& each : all_market_parameters()) names.push_back(each.name);
    source.generator = generate->one_of("market", names);
    source.generator_zones = static_cast<std::int32_t>(generate->integer("zones", 1, 1000, 1));
    source.generator_length = generate->duration("length");
    if (source.generator_length < hours(1) || source.generator_length > days(3660)) {
        generate->fail("length", "expected from 1 h to 3660 d");
    }
    generate->finish();
}

void read_billing(ConfigReader& market, BillingRule& billing) {
    auto rule = market.object_if_present("billing");
    if (!rule) return;
    billing.granularity = rule->duration("granularity", Duration{});
    billing.minimum = rule->duration("minimum", Duration{});
    rule->finish();
}

void read_market(ConfigReader config, const std::filesystem::path& folder, Scenario& scenario) {
    MarketSource& source = scenario.market;
    std::optional<Price> spot_price;
    std::optional<Price> on_demand_price;
    if (config.has("spot_price")) spot_price = config.price("spot_price");
    if (config.has("on_demand_price")) on_demand_price = config.price("on_demand_price");
    read_generator(config, source);
    if (config.has("zones")) {
        for (ConfigReader& zone : config.objects("zones")) {
            source.zones.push_back(read_zone(zone, folder, spot_price, on_demand_price));
            source.zones.back().name = zone.text("name");
            zone.finish();
        }
        if (source.zones.empty()) config.fail("zones", "expected at least one zone");
    } else {
        source.zones.push_back(read_zone(config, folder, spot_price, on_demand_price));
    }
    static constexpr std::array<std::string_view, 2> prices{"trace", "scenario"};
    source.price_from_trace = config.one_of("price_from", prices, "trace") == "trace";
    static constexpr std::array<std::string_view, 3> ones{"as_documented", "available",
                                                          "unavailable"};
    const std::string one = config.one_of("one_means", ones, "as_documented");
    source.polarity = one == "available"     ? Polarity::one_is_available
                      : one == "unavailable" ? Polarity::one_is_unavailable
                                             : Polarity::as_documented;
    static constexpr std::array<std::string_view, 3> rules{"end", "repeat", "hold"};
    const std::string after = config.one_of("after_last_row", rules, "end");
    source.after_last_row =
        static_cast<AfterLastRow>(std::ranges::find(rules, after) - rules.begin());
    source.notice = config.duration("notice", Duration{});
    source.provisioning = config.duration("provisioning", Duration{});
    read_billing(config, scenario.job.billing);
    config.finish();
}

void read_plan(ConfigReader& root, JobSpec& job) {
    Market market = Market::spot;
    auto config = root.object_if_present("plan");
    if (config) {
        const std::string name = config->one_of("market", market_names(), "spot");
        market = static_cast<Market>(std::ranges::find(market_names(), name) -
                                     market_names().begin());
        job.plan.checkpoint_interval = config->duration("checkpoint_interval", never_checkpoint);
        job.plan.checkpoint_on_notice = config->flag("checkpoint_on_notice", false);
        config->finish();
    }
    job.plan.fleet = {{ZoneId{0}, 0, market, job.plan.workers_max, Price{}}};
}

void read_policies(ConfigReader& root, Scenario& scenario) {
    if (auto parameters = root.object_if_present("policy_parameters")) {
        for (const std::string& name : parameters->keys()) {
            const PolicyEntry* entry = find_policy(name);
            if (entry == nullptr) parameters->fail(name, no_such_policy(name));
            ConfigReader own = parameters->object(name);
            make_policy(*entry, own);  // for its complaints
            scenario.policy_parameters[std::string(entry->name)] = own.object_text();
        }
        parameters->finish();
    }
    const bool one_list = root.has("policies");
    if (one_list == root.has("replay")) {
        root.fail("", "expected either \"policies\" (a list that runs together) or \"replay\" "
                      "(a list of lists, such as [\"greedy\", \"spot_only+daly_checkpoint\"])");
    }
    if (!one_list) {
        const std::vector<std::string> lists = root.texts("replay");
        for (std::size_t index = 0; index < lists.size(); ++index) {
            const std::string where = fmt::format("{}: at /replay/{}", root.file(), index);
            for (PolicyList& list : parse_policies(lists[index], scenario, where)) {
                scenario.policies.push_back(std::move(list));
            }
        }
        if (lists.empty()) root.fail("replay", "expected at least one policy");
        return;
    }
    PolicyList list;
    for (ConfigReader& item : root.objects("policies")) {
        const std::string name = item.text("name");
        const PolicyEntry* entry = find_policy(name);
        if (entry == nullptr) item.fail("name", no_such_policy(name));
        make_policy(*entry, item);  // for its complaints
        list.items.push_back({entry, item.object_text()});
        scenario.policy_parameters.try_emplace(std::string(entry->name), item.object_text());
    }
    if (list.items.empty()) root.fail("policies", "expected at least one policy");
    scenario.policies.push_back(std::move(list));
}

void read_limits(ConfigReader& root, JobSpec& job) {
    auto limits = root.object_if_present("limits");
    if (!limits) return;
    constexpr std::int64_t most = 1'000'000'000'000;
    job.limits.events_max = static_cast<std::uint64_t>(
        limits->integer("events_max", 1, most, static_cast<std::int64_t>(job.limits.events_max)));
    job.limits.events_per_instant_max = static_cast<std::uint64_t>(
        limits->integer("events_per_instant_max", 1, most,
                        static_cast<std::int64_t>(job.limits.events_per_instant_max)));
    limits->finish();
}

Scenario read(ConfigReader root, const std::filesystem::path& file) {
    Scenario scenario;
    scenario.file = file;
    scenario.name = root.text("name");
    root.text("description", "");
    scenario.seed = static_cast<std::uint64_t>(
        root.integer("seed", 0, std::numeric_limits<std::int64_t>::max()));
    read_job(root.object("job"), scenario);
    read_cluster(root.object("cluster"), scenario);
    read_market(root.object("market"), file.parent_path(), scenario);
    read_plan(root, scenario.job);
    read_limits(root, scenario.job);
    static constexpr std::array<std::string_view, 2> oracles{"none", "future_availability"};
    scenario.oracle_allowed = root.one_of("oracle", oracles, "none") != "none";
    read_policies(root, scenario);
    root.finish();
    scenario.resolved = root.resolved();
    return scenario;
}

}  // namespace

Scenario read_scenario(const std::filesystem::path& file,
                       std::span<const ConfigOverride> overrides) {
    return read(ConfigReader::from_file(file, overrides), file);
}

Scenario scenario_from_text(std::string_view text, const std::filesystem::path& file,
                            std::span<const ConfigOverride> overrides) {
    return read(ConfigReader::from_text(text, file.string(), overrides), file);
}

}  // namespace ukemi
