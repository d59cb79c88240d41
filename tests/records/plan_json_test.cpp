// plan_json_test.cpp — Plans, Observations and profiles survive the way to JSON text and back.
#include "records/plan_json.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/rng.hpp"
#include "policies/plan_fields.hpp"
#include "records/json_record.hpp"

using namespace ukemi;
using namespace ukemi::policies;
using namespace ukemi::records;
using nlohmann::json;

namespace {

std::int64_t whole(RandomStream& random) {
    return random.chance(0.3) ? 0 : random.integer(0, std::int64_t{1} << random.integer(1, 60));
}
std::int32_t small(RandomStream& random) {
    return static_cast<std::int32_t>(random.integer(0, 1000));
}
Duration time(RandomStream& random) {
    return random.chance(0.3) ? Duration{} : nanoseconds(random.integer(0, days(36'600).raw()));
}
double real(RandomStream& random) {
    return random.chance(0.3) ? 0 : random.normal(0, 1) * random.lognormal(0, 20);
}

// Any value of a Plan's field.
template <class Value>
void draw(RandomStream& random, Value& value) {
    if constexpr (std::is_same_v<Value, bool>) {
        value = random.chance(0.5);
    } else if constexpr (std::is_integral_v<Value>) {
        value = sizeof(Value) > 4 ? static_cast<Value>(whole(random)) : small(random);
    } else if constexpr (std::is_same_v<Value, double>) {
        value = real(random);
    } else if constexpr (std::is_same_v<Value, Duration>) {
        value = random.chance(0.5) ? never_checkpoint : time(random);
    } else if constexpr (std::is_enum_v<Value>) {
        const auto names = static_cast<std::int64_t>(names_of(value).size());
        value = static_cast<Value>(random.integer(0, names - 1));
    } else if constexpr (std::is_same_v<Value, Layout>) {
        value = {small(random), small(random), small(random)};
    } else {
        for (std::int64_t left = random.integer(0, 3); left > 0; --left) {
            value.push_back(static_cast<typename Value::value_type>(random.bits() & 0x7fffffffU));
        }
    }
}

Plan random_plan(RandomStream& random) {
    Plan plan;
    plan.version = PlanVersion{static_cast<std::uint32_t>(random.bits())};
    for (std::int64_t lines = random.integer(0, 4); lines > 0; --lines) {
        plan.fleet.push_back({ZoneId{static_cast<std::uint32_t>(random.bits())},
                              static_cast<std::uint16_t>(random.bits()),
                              static_cast<Market>(random.integer(0, 2)),
                              static_cast<std::int32_t>(random.bits()),
                              Price::of(static_cast<std::int64_t>(random.bits()))});
    }
    for_each_line(plan_fields, [&](const auto& field) { draw(random, plan.*field.planned); });
    return plan;
}

Observation random_observation(RandomStream& random) {
    Observation seen;
    seen.now = Instant::at(time(random));
    seen.decision_interval = time(random);
    seen.losses_between_ticks = random.chance(0.5);
    seen.deadline = random.chance(0.5) ? Instant::never() : Instant::at(time(random));
    seen.earlier = time(random);
    seen.samples_done = whole(random);
    seen.samples_total = whole(random);
    seen.steps_done = whole(random);
    seen.epoch = whole(random);
    seen.phase = static_cast<JobPhase>(random.integer(0, 4));
    seen.transition_remaining = time(random);
    seen.samples_safe = whole(random);
    seen.workers = small(random);
    seen.workers_min = 1 + small(random);
    seen.loss = real(random);
    if (random.chance(0.5)) {
        seen.gradient = {real(random), real(random), real(random), real(random)};
    }
    if (random.chance(0.5)) {
        seen.exchange = {time(random), time(random),  time(random),
                         time(random), whole(random), real(random)};
    }
    seen.spot_held = small(random);
    seen.on_demand_held = small(random);
    seen.spot_capacity = small(random);
    seen.on_demand_price = Price::of(whole(random));
    seen.spent = nano_dollars(whole(random));
    seen.spot_losses = whole(random);
    seen.spot_loss_events = small(random);
    seen.spot_time = time(random);
    for (std::int64_t left = random.integer(0, 3); left > 0; --left) {
        const ZoneId zone{static_cast<std::uint32_t>(random.bits())};
        const InstanceId instance{static_cast<std::uint32_t>(random.bits())};
        ZoneView view;
        view.zone = zone;
        view.spot_capacity = small(random);
        view.spot_price = Price::of(whole(random));
        view.on_demand_price = Price::of(whole(random));
        view.speed_per_mille = 1 + small(random);
        view.move_cost = nano_dollars(whole(random));
        view.move_time = time(random);
        view.spot_held = small(random);
        view.on_demand_held = small(random);
        view.pending = small(random);
        seen.zones.push_back(view);
        seen.spot_since.push_back(Instant::at(time(random)));
        seen.notices.push_back({instance, zone, Instant::at(time(random))});
        seen.worker_views.push_back(
            {instance, time(random), time(random), time(random), time(random)});
        seen.links.push_back({small(random), small(random), time(random), real(random)});
    }
    return seen;
}

// By way of the text, as it stands in a file.
json reread(const json& object) { return json::parse(object.dump()); }

}  // namespace

TEST_CASE("plan json: a Plan comes back exactly", "[plan_json][property]") {
    const std::uint64_t seed = GENERATE(range(1U, 201U));
    CAPTURE(seed);
    RandomStream random(seed, "test/plan");
    const Plan plan = random_plan(random);
    CHECK(plan_from(reread(to_json(plan))) == plan);
}

TEST_CASE("observation json: an Observation comes back exactly", "[plan_json][property]") {
    const std::uint64_t seed = GENERATE(range(1U, 201U));
    CAPTURE(seed);
    RandomStream random(seed, "test/observation");
    const Observation seen = random_observation(random);
    CHECK(observation_from(reread(to_json(seen))) == seen);
}

TEST_CASE("plan json: the defaults come back, and their text stays as it is", "[plan_json]") {
    CHECK(plan_from(reread(to_json(Plan{}))) == Plan{});
    CHECK(
        to_json(Plan{}).dump() ==
        R"({"accumulation":1,"batch_per_learner":1,"checkpoint_interval_ns":9223372036854775807,)"
        R"("checkpoint_on_notice":false,"codec":"none","codec_level":0.0,"collective":"automatic",)"
        R"("fleet":[],"global_batch":0,"layout":{"data":1,"pipeline":1,"tensor":1},)"
        R"("learners_per_gpu":1,"learning_rate":0.0,"synchronisation":"s_sgd","version":0,)"
        R"("workers_max":1})");  // as it was before there was a table
    CHECK(observation_from(reread(to_json(Observation{}))) == Observation{});
    CHECK(to_json(Observation{}).size() == 5);  // what is zero is left out
}

TEST_CASE("observation json: a loss that is no number comes back, and finite ones look as before",
          "[plan_json]") {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    Observation seen;
    seen.gradient = {-infinite, infinite, std::nan(""), 0};
    for (const double loss : {std::nan(""), infinite, -infinite}) {
        seen.loss = loss;
        const json object = to_json(seen);
        const Observation read = observation_from(reread(object));
        CHECK((read.loss == loss || (std::isnan(read.loss) && std::isnan(loss))));
        CHECK(read.gradient.squared_norm == -infinite);
        CHECK(read.gradient.covariance_trace == infinite);
        CHECK(std::isnan(read.gradient.noise_scale));
        CHECK(to_json(read) == object);  // which NaN != NaN would keep from being said of them
    }
    CHECK(to_json(seen)["loss"] == "-inf");
    seen.loss = 2.5;
    seen.gradient = {0.5, 4, 8, 0};
    CHECK(to_json(seen).dump() ==
          R"({"gradient":{"covariance_trace":4.0,"noise_scale":8.0,"squared_norm":0.5},)"
          R"("loss":2.5,"now_ns":0,"phase":"waiting","samples_done":0,"samples_total":0,)"
          R"("workers_min":1})");
    Decision wild;
    wild.learning_rate = infinite;
    wild.codec_level = std::nan("");
    CHECK(to_json(wild) == json::parse(R"({"learning_rate": "inf", "codec_level": "nan"})"));
}

TEST_CASE("plan json: numbers keep their last bit", "[plan_json]") {
    Plan plan;
    for (const double rate : {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, 1.0}) {
        plan.learning_rate = rate;
        CHECK(plan_from(reread(to_json(plan))).learning_rate == rate);
    }
    plan.learning_rate = 0.1;
    CHECK(to_json(plan)["learning_rate"].dump() == "0.1");  // the shortest form
    plan.global_batch = std::numeric_limits<std::int64_t>::max();
    CHECK(plan_from(reread(to_json(plan))).global_batch == plan.global_batch);
}

TEST_CASE("decision json: says what is set, by name and unit", "[plan_json]") {
    Decision decision;
    CHECK(to_json(decision) == json::object());
    decision.market = Market::on_demand;
    decision.zone_counts = {{ZoneId{1}, 4}};
    decision.zone_bids = {{ZoneId{1}, Price::of(7)}};
    decision.checkpoint_interval = minutes(1);
    decision.codec = Codec::power_sgd;
    decision.ask_again_in = whole_seconds(2);
    decision.checkpoint_on_notice = false;
    decision.reason = "behind";
    CHECK(to_json(decision) == json::parse(R"({
        "market": "on_demand", "zone_counts": [{"zone": 1, "count": 4}],
        "zone_bids": [{"zone": 1, "bid_nano_usd_per_hour": 7}],
        "checkpoint_interval_ns": 60000000000, "codec": "power_sgd",
        "ask_again_in_ns": 2000000000, "checkpoint_on_notice": false, "reason": "behind"})"));
}

TEST_CASE("decision json: has a key for every knob", "[plan_json]") {
    Decision all;
    for_each_line(decision_fields, [&](const auto& field) { (all.*field.decided).emplace(); });
    all.ask_again_in = minutes(1);
    all.reason = "all";
    CHECK(to_json(all).size() == member_count<Decision, std::nullopt_t>() + 1);  // the reason
}

TEST_CASE("capabilities and profile json: come back", "[plan_json]") {
    Capabilities can{"test world", {Knob::market, Knob::codec}, 3, 2, 40, 4};
    CHECK_FALSE(to_json(can).contains("synchronisations"));
    can.synchronisations = {Synchronisation::s_sgd, Synchronisation::local_sgd};
    CHECK_FALSE(to_json(can).contains("learners_max"));
    can.learners_code = false;
    can.learners_max = 12;
    const Capabilities read = capabilities_from(reread(to_json(can)));
    CHECK(read.world == can.world);
    CHECK(read.knobs == can.knobs);
    CHECK(read.zones == can.zones);
    CHECK(read.instance_types == can.instance_types);
    CHECK(read.instances_max == can.instances_max);
    CHECK(read.workers_min == can.workers_min);
    CHECK(read.synchronisations == can.synchronisations);
    CHECK(read.learners_code == can.learners_code);
    CHECK(read.learners_max == can.learners_max);

    JobProfile profile;
    profile.throughput = {{1, {3, whole_seconds(2)}}, {8, {20, whole_seconds(2)}}};
    profile.provisioning = minutes(1);
    profile.restart = minutes(2);
    profile.resize = minutes(3);
    profile.lossless = false;
    profile.checkpoint = minutes(4);
    profile.restore = minutes(5);
    profile.sharded = true;
    CHECK_FALSE(to_json(profile).contains("spawn_ns"));  // as before it was known
    profile.learner_speeds = {1000, 1600};
    profile.communication = {{Collective::star, {{1, milliseconds(20)}}}};
    profile.spawn = minutes(6);
    CHECK(profile_from(reread(to_json(profile))).learner_speeds == profile.learner_speeds);
    const ExposedCommunication star = profile_from(reread(to_json(profile))).communication.at(0);
    CHECK(star.collective == Collective::star);
    CHECK(time_for_size(star.times, 16) == milliseconds(20));
    CHECK(profile_from(reread(to_json(profile))).spawn == minutes(6));
    CHECK(to_json(profile_from(reread(to_json(profile)))) == to_json(profile));
    CHECK(profile_from(reread(to_json(profile))).throughput[1].rate ==
          StepRate{20, whole_seconds(2)});
}

TEST_CASE("profile json: step times by group come back, and must rise", "[plan_json]") {
    JobProfile profile;
    profile.throughput = {{1, {1, milliseconds(1)}}};
    StepTime& time = profile.step_time.emplace();
    time.compute = {{8, milliseconds(1)}};
    CHECK_FALSE(to_json(profile)["step_time"].contains("groups"));  // as before they were known
    time.groups = {{1, {{8, milliseconds(2)}, {16, milliseconds(3)}}}, {4, {{8, milliseconds(5)}}}};
    const JobProfile back = profile_from(reread(to_json(profile)));
    REQUIRE(back.step_time->groups.size() == 2);
    CHECK(back.step_time->groups[1].workers == 4);
    CHECK(to_json(back) == to_json(profile));
    CodecTime& row = time.codecs.emplace_back();
    row.codec = Codec::power_sgd;
    row.encoding = {{1, milliseconds(4)}};
    CHECK(to_json(profile)["step_time"]["codecs"][0]["encoding_ns"] == 4'000'000);
    row.encoding = {{2, milliseconds(4)}, {8, milliseconds(7)}};
    CHECK_FALSE(to_json(profile)["step_time"]["codecs"][0].contains("groups"));
    row.groups = time.groups;
    const JobProfile with_codec = profile_from(reread(to_json(profile)));
    CHECK(with_codec.step_time->codecs[0].groups[1].steps[0].time == milliseconds(5));
    CHECK(with_codec.step_time->codecs[0].encoding[1].time == milliseconds(7));
    CHECK(to_json(with_codec) == to_json(profile));
    time.groups[0].compute = {{8, milliseconds(1)}, {16, milliseconds(2)}};
    CHECK_THROWS_AS(profile_from(reread(to_json(profile))), std::invalid_argument);  // not of all
    time.groups[1].compute = {{8, milliseconds(4)}};
    time.groups[1].update = milliseconds(1);
    const JobProfile of_kinds = profile_from(reread(to_json(profile)));
    CHECK(of_kinds.step_time->groups[1].compute.front().time == milliseconds(4));
    CHECK(of_kinds.step_time->groups[1].update == milliseconds(1));
    std::swap(time.groups[0], time.groups[1]);
    CHECK_THROWS_AS(profile_from(reread(to_json(profile))), std::invalid_argument);
}

namespace {

// What is said of an otherwise good Observation, Plan, … with this value at this key.
template <class Value, class Read>
std::string complaint(const Value& good, Read read, const std::string& pointer, const json& value) {
    json object = to_json(good);
    object[json::json_pointer(pointer)] = value;
    try {
        read(object);
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("profile json: links between hosts come back, and bad ones do not", "[plan_json]") {
    JobProfile profile;
    profile.throughput = {{1, {1, milliseconds(1)}}};
    profile.links.message = Bytes::of(7);
    profile.links.workers_per_host = 2;
    profile.links.links = {
        {0, 1, milliseconds(1), 1e9}, {0, 2, milliseconds(2), 2e9}, {1, 2, milliseconds(3), 3e9}};
    const json object = to_json(profile);
    CHECK(profile_from(reread(object)).links == profile.links);
    const auto says = [&](const std::string& pointer, const json& value) {
        return complaint(profile, profile_from, "/links/" + pointer, value);
    };
    const std::string whole = "\"between\": expected what is between each two hosts, in order";
    CHECK(says("between/1/other", 1) == whole);  // twice
    CHECK(says("between/2/other", 7) == whole);  // others are missing
    CHECK(says("between/1/bytes_per_second", 0) == whole);
    CHECK(says("message_bytes", -1) == whole);
    CHECK(says("workers_per_host", 0) == "\"workers_per_host\": expected a number above zero");
}

TEST_CASE("profile json: what collectives take by size comes back, and bad rows do not",
          "[plan_json]") {
    JobProfile profile;
    profile.throughput = {{1, {1, milliseconds(1)}}};
    profile.communication = {{Collective::star, {{1, milliseconds(20)}}},
                             {Collective::ring, {{4, milliseconds(8)}, {16, milliseconds(9)}}}};
    const json object = to_json(profile);
    const json& written = object["communication"];
    // A time at any size is what it was before there were sizes.
    CHECK(written[0] == json::parse(R"({"collective": "star", "time_ns": 20000000})"));
    CHECK(written[1] == json::parse(R"({"collective": "ring", "times": [
        {"workers": 4, "time_ns": 8000000}, {"workers": 16, "time_ns": 9000000}]})"));
    const JobProfile back = profile_from(reread(object));
    Plan plan;
    plan.collective = Collective::ring;
    CHECK(exposed_communication(back, plan, 10) == nanoseconds(8'500'000));
    CHECK(to_json(back) == object);

    const auto says = [&](const std::string& pointer, const json& value) {
        return complaint(profile, profile_from, "/communication/" + pointer, value);
    };
    const std::string order = "\"times\": expected increasing numbers of workers";
    CHECK(says("1/times/1/workers", 3) == order);
    CHECK(says("1/times/1/workers", 4) == order);  // twice
    CHECK(says("1/times/0/workers", 0) == "\"workers\": expected a number above zero");
    CHECK(says("1/times/0/workers", -4) == "\"workers\": expected a number above zero");
    CHECK(says("1/times/0/time_ns", -1) == "\"time_ns\": expected no negative time");
    const std::int64_t too_long = step_part_longest.raw() + 1;
    CHECK(says("1/times/0/time_ns", too_long) == "\"time_ns\": expected a shorter time");
    CHECK(says("0/time_ns", too_long) == "\"time_ns\": expected a shorter time");
    CHECK(says("1/times", json::array()) == "missing \"time_ns\"");
    CHECK(says("1/time_ns", 5) == "unknown key \"time_ns\"");  // beside "times"
    CHECK(says("1/collective", "star") == "\"communication\": expected each collective once");
}

TEST_CASE("profile json: exchanges and learners of a step's time come back", "[plan_json]") {
    JobProfile profile;
    profile.throughput = {{1, {1, milliseconds(1)}}};
    StepTime& time = profile.step_time.emplace();
    time.compute = {{8, milliseconds(1)}};
    for (const char* key : {"exchanges", "learner_speeds_per_mille", "learner_steps"}) {
        CHECK_FALSE(to_json(profile)["step_time"].contains(key));  // as before they were known
    }
    time.learner_speeds = {1000, 1600};
    time.exchanges = {{Synchronisation::s_sgd, {{1, Duration{}}, {4, milliseconds(3)}}},
                      {Synchronisation::pair_averaging, {{1, milliseconds(2)}}}};
    const JobProfile back = profile_from(reread(to_json(profile)));
    CHECK(back.step_time->learner_speeds == time.learner_speeds);
    REQUIRE(back.step_time->exchanges.size() == 2);
    CHECK(back.step_time->exchanges[1].synchronisation == Synchronisation::pair_averaging);
    CHECK(back.step_time->exchanges[0].times[1].time == milliseconds(3));
    CHECK(to_json(back) == to_json(profile));
    time.learner_speeds.clear();
    time.learner_steps = {{2, 8, {{8, milliseconds(2)}}, {{1, {{8, milliseconds(2)}}}}},
                          {3, 4, {{4, milliseconds(3)}}, {{1, {{4, milliseconds(4)}}}}}};
    time.update = milliseconds(1);
    time.learner_steps[0].update = milliseconds(2);
    const JobProfile more = profile_from(reread(to_json(profile)));
    REQUIRE(more.step_time->learner_steps.size() == 2);
    CHECK(more.step_time->learner_steps[1].worker_batch_max == 4);
    CHECK(more.step_time->update == milliseconds(1));
    CHECK(more.step_time->learner_steps[0].update == milliseconds(2));
    CHECK(more.step_time->learner_steps[1].update == Duration{});
    CHECK(to_json(more) == to_json(profile));
    const auto says = [&](const std::string& pointer, const json& value) {
        return complaint(profile, profile_from, "/step_time/learner_steps/" + pointer, value);
    };
    CHECK(says("1/learners", 4) == "\"learners\": expected two, three, and so on");
    CHECK(says("0/groups", json::array()) == "\"groups\": expected at least one");
}

TEST_CASE("observation json: hostile values are refused by key", "[plan_json]") {
    Observation good;
    good.zones.resize(1);
    good.worker_views.resize(1);
    good.notices.resize(1);
    const auto says = [&](const std::string& pointer, const json& value) {
        return complaint(good, observation_from, pointer, value);
    };
    const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
    CHECK(says("/workers_min", 0) == "\"workers_min\": expected a number above zero");
    CHECK(says("/workers_min", -3) == "\"workers_min\": expected a number above zero");
    CHECK(says("/workers_min", huge) == "\"workers_min\": expected a smaller number");
    CHECK(says("/now_ns", -1) == "\"now_ns\": expected no negative time");
    CHECK(says("/now_ns", huge) == "\"now_ns\": expected a shorter time");
    CHECK(says("/now_ns", 1.5) == "\"now_ns\": expected an integer");
    CHECK(says("/now_ns", 1e300) == "\"now_ns\": expected an integer");
    CHECK(says("/now_ns", 18446744073709551615U) == "\"now_ns\": expected a smaller number");
    CHECK(says("/now_ns", "1") == "\"now_ns\": expected an integer");
    CHECK(says("/deadline_ns", -5) == "\"deadline_ns\": expected no negative time");
    CHECK(says("/deadline_ns", huge) == "\"deadline_ns\": expected a shorter time");
    CHECK(says("/decision_interval_ns", huge) ==
          "\"decision_interval_ns\": expected a shorter time");
    CHECK(says("/samples_done", -1) == "\"samples_done\": expected no negative number");
    CHECK(says("/samples_safe", -1) == "\"samples_safe\": expected no negative number");
    CHECK(says("/steps_done", -1) == "\"steps_done\": expected no negative number");
    CHECK(says("/spot_loss_events", -1) == "\"spot_loss_events\": expected no negative number");
    CHECK(says("/spot_loss_events", huge) == "\"spot_loss_events\": expected a smaller number");
    CHECK(says("/spot_held", -1) == "\"spot_held\": expected no negative number");
    CHECK(says("/spot_time_ns", -1) == "\"spot_time_ns\": expected no negative time");
    CHECK(says("/spot_since_ns", json::array({-1})) ==
          "\"spot_since_ns\": expected moments that are not negative");
    CHECK(says("/transition_remaining_ns", -1) ==
          "\"transition_remaining_ns\": expected no negative time");
    CHECK(says("/phase", "resting") == "\"phase\": expected a known name");
    CHECK(says("/phase", 3) == "\"phase\": expected text");
    CHECK(says("/loss", "NaN") == "\"loss\": expected a number");
    CHECK(says("/loss", nullptr) == "\"loss\": expected a number");
    CHECK(says("/zones", 7) == "\"zones\": expected a list");
    CHECK(says("/zones/0", 7) == "expected an object");
    CHECK(says("/zones/0/zone", -1) == "\"zone\": expected a smaller number");
    CHECK(says("/zones/0/spot_capacity", -1) == "\"spot_capacity\": expected no negative number");
    CHECK(says("/zones/0/spot_nano_usd_per_hour", -1) ==
          "\"spot_nano_usd_per_hour\": expected no negative price");
    CHECK(says("/zones/0/colour", "red") == "unknown key \"colour\"");
    CHECK(says("/notices/0/lost_at_ns", -1) == "\"lost_at_ns\": expected no negative time");
    CHECK(says("/worker_views/0/step_ns", -1) == "\"step_ns\": expected no negative time");
    CHECK(says("/mood", 1) == "unknown key \"mood\"");
}

TEST_CASE("plan json: hostile capabilities and profiles are refused by key", "[plan_json]") {
    const auto able = [&](const std::string& pointer, const json& value) {
        return complaint(Capabilities{}, capabilities_from, pointer, value);
    };
    CHECK(able("/zones", 0) == "\"zones\": expected a number above zero");
    CHECK(able("/instances_max", 0) == "\"instances_max\": expected a number above zero");
    CHECK(able("/workers_min", -1) == "\"workers_min\": expected a number above zero");
    CHECK(able("/knobs", json::array({"colour"})) == "\"knobs\": expected known names");

    JobProfile good;
    good.throughput = {{1, {1, whole_seconds(1)}}, {2, {2, whole_seconds(1)}}};
    const auto fast = [&](const std::string& pointer, const json& value) {
        return complaint(good, profile_from, pointer, value);
    };
    CHECK(fast("/throughput", json::array()) == "\"throughput\": expected at least one point");
    CHECK(fast("/throughput/0/steps", 0) == "\"throughput\": expected positive numbers");
    CHECK(fast("/throughput/0/per_ns", -1) == "\"throughput\": expected positive numbers");
    CHECK(fast("/throughput/1/workers", 1) ==
          "\"throughput\": expected increasing numbers of workers");
    CHECK(fast("/throughput/0/steps", std::numeric_limits<std::int64_t>::max()) ==
          "\"throughput\": expected steps that take a femtosecond to a year");
    CHECK(fast("/throughput/0/per_ns", days(400).raw()) ==
          "\"throughput\": expected steps that take a femtosecond to a year");
    CHECK(fast("/restart_ns", -1) == "\"restart_ns\": expected no negative time");
    CHECK(fast("/restore_ns", days(367).raw()) == "\"restore_ns\": expected a shorter time");
    CHECK(complaint(Plan{}, plan_from, "/layout/depth", 1) == "unknown key \"depth\"");
    CHECK(complaint(Plan{}, plan_from, "/codec", "zip") == "\"codec\": expected a known name");
    CHECK(complaint(Plan{}, plan_from, "/learning_rate", nullptr) ==
          "\"learning_rate\": expected a number");
}
