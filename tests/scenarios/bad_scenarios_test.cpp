// bad_scenarios_test.cpp — each file of tests/scenarios_bad is refused, with exactly this sentence.
//
// What is expected is the message after the file's own name, or after '@' all of it (a message
// about a trace that the scenario names). Folders are taken off.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>

#include "scenarios/reader/scenario.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "sim/job/world.hpp"

namespace ukemi {

namespace {

const std::filesystem::path bad_folder =
    std::filesystem::path(UKEMI_SOURCE_DIR) / "tests" / "scenarios_bad";

struct Refusal {
    std::string_view name;
    std::string_view message;
};
constexpr Refusal refusals[] = {
    {"after_last_row_unknown",
     ": at /market/after_last_row: expected one of end, repeat, hold, found \"loop\""},
    {"availability_file_holds_prices", "@traces/price.csv: expected availability, found prices"},
    {"batch_with_work",
     ": at /job/batch: goes with \"samples\", and this job is given as \"work\""},
    {"bid_without_bidding",
     ": at /plan/bid: bids mean nothing in this market (\"bidding\" at /market)"},
    {"billing_step_missing",
     ": at /market/billing/last_part_free_if_taken: needs a \"granularity\": the step it is about"},
    {"checkpoint_cost_when_lossless",
     ": at /job/checkpoint/cost: says nothing where \"kind\" is \"lossless\": leave it out"},
    {"checkpoint_interval_zero",
     ": at /plan/checkpoint_interval: expected from 1 s to 3660 d, found 0 s"},
    {"checkpoint_without_cost", ": at /job/checkpoint: missing key \"cost\""},
    {"clock_order",
     ": at /job/clock/completion: expected one of before_decision, after_decision, found "
     "\"before_decisions\" (did you mean \"before_decision\"?)"},
    {"codec_level_not_whole",
     ": at /training/codec: expected a whole number (rank) from 1 to 4096, found 1.5"},
    {"codec_without_times",
     ": at /job/step_time/codecs/0/synchronisation: missing: expected times by the number of "
     "workers, or \"bytes\" and a \"link\" at step_time"},
    {"collective_unknown",
     ": at /job/communication/rings: there is no collective of this name (did you mean \"ring\"?)"},
    {"comment", ":1:1: syntax error while parsing value - invalid literal; last read: '/'"},
    {"communication_by_size_empty",
     ": at /job/communication/ring: expected at least one time, such as {\"1\": \"30 s\"}"},
    {"communication_by_size_unit",
     ": at /job/communication/ring/4: expected a duration such as \"15 min\" (ns, us, ms, s, min, "
     "h, "
     "d), found \"42\""},
    {"communication_not_a_time",
     ": at /job/communication/ring: expected a duration such as \"15 min\" (ns, us, ms, s, min, h, "
     "d), found [\"20 ms\"]"},
    {"communication_size_zero",
     ": at /job/communication/ring: expected sizes of the group from 1 to 100000 as keys, such as "
     "\"8\", found \"0\""},
    {"communication_too_long",
     ": at /job/communication/ring/8: expected from 0 s to 1 d, found 2 d"},
    {"count_and_count_max",
     ": at /cluster: expected either \"count\" or \"count_min\" and \"count_max\", found "
     "both"},
    {"count_min_above_max",
     ": at /cluster/count_min: expected at most \"count_max\", which is 4, found 8"},
    {"count_zero", ": at /cluster/count: expected an integer from 1 to 100000, found 0"},
    {"date_without_provider", ": at /market/date: goes with a \"provider\", and there is none"},
    {"deadline_missing",
     ": at /replay/1: \"greedy\" needs a deadline, and the job has none (\"deadline\" at "
     "/job)"},
    {"deadline_zero", ": at /job/deadline: expected from 1 s to 3660 d, found 0 s"},
    {"duplicate_key", ": at /job: key \"deadline\" appears twice"},
    {"empty",
     ":1:1: syntax error while parsing value - unexpected end of input; expected '[', "
     "'{', or a literal"},
    {"empty_name", ": at /name: expected a name, found \"\""},
    {"file_beside_zones",
     ": at /market: expected \"availability\" in each of the \"zones\", found it beside "
     "them"},
    {"flag_as_text", ": at /plan/checkpoint_on_notice: expected true or false, found \"yes\""},
    {"generator_and_file",
     ": at /market: expected either \"generate\" or \"availability\", found both"},
    {"generator_too_large",
     ": at /market/generate/length: expected at most 20000 d in all 100 zones together, "
     "found 3660 d in each"},
    {"generator_unknown",
     ": at /market/generate/market: expected one of v100-1-good, v100-1-scarce, "
     "v100-16-burst, p3-64-group, h100-16-launch, g2-bidding, found \"v100-1-godo\" (did "
     "you mean \"v100-1-good\"?)"},
    {"generator_without_length", ": at /market/generate: missing key \"length\""},
    {"interference_backwards", ": at /job/interference/0/until: expected a moment after \"from\""},
    {"job_is_text", ": at /job: expected an object, found \"train\""},
    {"launch_failure_certain",
     ": at /market/launch_failure: expected a number from 0 to 0.999, found 1"},
    {"learners_accumulate",
     ": at /training/learners: averaging learners take a step each batch: expected accumulation 1"},
    {"learners_of_pairs",
     ": at /training/learners: pairs are of workers: pair_averaging takes 1 learner a worker"},
    {"learners_share_a_batch",
     ": at /training/learners: averaging learners have a batch each: expected a batch of each "
     "worker, not one that all share"},
    {"learners_with_batch",
     ": at /job/learner_speeds: goes with \"batch_per_worker\": each has a batch"},
    {"learners_with_codec",
     ": at /training/codec: goes with \"synchronisation\": \"s_sgd\": averaging exchanges models "
     "and "
     "no gradients"},
    {"lifetime_within_notice",
     ": at /market/lifetime_max: expected more than the notice of 5 min, found 2 min"},
    {"learning_without_training",
     ": at /learning: with real gradients needs the section \"training\": which data, which model"},
    {"limits_zero",
     ": at /limits/events_max: expected an integer from 1 to 1000000000000, found 0"},
    {"model_size_unit",
     ": at /job/model_size: expected a size such as \"20 GB\" (B, KB, MB, GB, TB, KiB, MiB, GiB, "
     "TiB), found \"20 gigs\""},
    {"negative_seed", ": at /seed: expected an integer of at least 0, found -1"},
    {"neither_policies_nor_replay",
     ": at /: expected either \"policies\" (a list that runs together) or \"replay\" (a "
     "list of lists, such as [\"greedy\", \"spot_only+daly_checkpoint\"]), found neither"},
    {"neither_work_nor_samples",
     ": at /job: expected either \"work\" (a duration) or \"samples\" (a number), found "
     "neither"},
    {"no_job", ": at /: missing key \"job\""},
    {"no_name", ": at /: missing key \"name\""},
    {"no_on_demand_price", ": at /market: missing key \"on_demand_price\""},
    {"no_seed", ": at /: missing key \"seed\""},
    {"no_spot_price",
     ": at /market: expected \"availability\", \"price\", \"generate\" or a "
     "\"spot_price\" (or a trace on the command line)"},
    {"not_an_object", ": at /: expected an object, found [\"job\",\"cluster\"]"},
    {"not_utf8", ":2:13: expected UTF-8, found byte 0xe4"},
    {"optional_key_misspelt", ": at /job: unknown key \"dead_line\" (did you mean \"deadline\"?)"},
    {"oracle_not_named",
     ": at /replay/0: \"ideal_no_overhead\" needs an oracle, which the scenario does not "
     "name (\"oracle\": \"future_availability\")"},
    {"oracle_unknown", ": at /oracle: expected one of none, future_availability, found \"future\""},
    {"policies_and_replay",
     ": at /: expected either \"policies\" (a list that runs together) or \"replay\" (a "
     "list of lists, such as [\"greedy\", \"spot_only+daly_checkpoint\"]), found both"},
    {"policy_list_bad_choice",
     ": at /policies/0/safety_net: expected one of simple, strong, found \"weak\""},
    {"policy_list_without_name", ": at /policies/0: missing key \"name\""},
    {"policy_parameter_unknown",
     ": at /policy_parameters/time_sliced: unknown key \"slices\" (did you mean "
     "\"slice\"?)"},
    {"policy_parameters_of_nobody",
     ": at /policy_parameters/time_slice: no policy \"time_slice\" (did you mean "
     "\"time_sliced\"?)"},
    {"policy_parameters_twice",
     ": at /policy_parameters/daly_checkpoint: \"daly_checkpoint\" has its parameters "
     "under another name, too"},
    {"policy_twice", ": at /replay/2: \"greedy\" stands there twice"},
    {"policy_unknown", ": at /replay/1: no policy \"greddy\" (did you mean \"greedy\"?)"},
    {"policy_without_name", ": at /replay/0: a policy without a name"},
    {"price_as_number",
     ": at /market/spot_price: expected a price such as \"3.06 USD/h\", found 0.9"},
    {"price_file_holds_availability",
     "@traces/availability.csv: expected prices, found availability"},
    {"price_from_nowhere",
     ": at /market/price_from: \"scenario\" needs a \"spot_price\" in the market or its "
     "zones"},
    {"price_in_euro",
     ": at /market/on_demand_price: expected a price such as \"3.06 USD/h\", found \"3 "
     "EUR/h\""},
    {"price_negative",
     ": at /market/spot_price: expected a price such as \"3.06 USD/h\", found \"-1 USD/h\""},
    {"price_out_of_range",
     ": at /market/on_demand_price: expected at most 1000 USD/h, found 1000000 USD/h"},
    {"provider_too_early",
     ": at /market/date: gcp_spot sells spot machines since 2021-10-12, found 2019-01-01"},
    {"provider_unknown",
     ": at /market/provider: expected one of aws, gcp_preemptible, gcp_spot, azure, found "
     "\"asure\" (did you mean \"azure\"?)"},
    {"provider_without_date", ": at /market: missing key \"date\""},
    {"replay_empty", ": at /replay: expected at least one policy"},
    {"replay_not_a_list", ": at /replay: expected a list of texts, found \"greedy\""},
    {"replay_of_objects", ": at /replay/0: expected text, found {\"name\":\"greedy\"}"},
    {"restart_of_a_year", ": at /job/restart: expected from 0 s to 30 d, found 365 d"},
    {"samples_without_batch", ": at /job: missing key \"batch\""},
    {"seed_as_text", ": at /seed: expected an integer of at least 0, found \"1\""},
    {"seed_not_whole", ": at /seed: expected an integer of at least 0, found 1.5"},
    {"simulate_asynchronous_departure",
     ": at /events/0: resnet50 cannot go on with fewer workers: they do not wait for each other, "
     "or "
     "layers are split over them"},
    {"simulate_batch_too_large",
     ": at /job/batch: megatron_8b with a batch of 64 needs 303687843840 bytes on pipeline rank 0 "
     "(parameters, gradients and optimiser 16696786944, kept for 1 backward pass 285917315072, "
     "reserve 1073741824), v100_sxm2_32gb has 34359738368: the largest batch that fits is 3"},
    {"simulate_codec_on_servers",
     ": at /job/codec: qsgd rides all-reduces and all-gathers, and parameter_server has neither"},
    {"simulate_heads_not_divided",
     ": at /job/layout: gpt2_xl has 25 heads of a hidden size of 1600: no multiples of tensor 8"},
    {"simulate_leaves_one_norm",
     ": at /events: those who are left of resnet50 cannot go on: resnet50: multi_binary_tree_star "
     "needs as many workers on each machine"},
    {"simulate_leaves_twice", ": at /events: a worker of resnet50 leaves that is there no more"},
    {"simulate_link_change_ends_before", ": at /events/0/until: expected later than \"at\""},
    {"simulate_nobody_is_left", ": at /events: no worker of resnet50 would be left"},
    {"simulate_pipeline_loses_a_worker", ": at /events: no replica of bert_large would be left"},
    {"simulate_validation_of_a_pipeline",
     ": at /job/validation: is for synchronous workers that hold the whole model"},
    {"simulate_who_leaves",
     ": at /events/0: expected either \"worker\" or \"machine\" to say who leaves"},
    {"slow_machines_without_speed", ": at /market/slow_machines: missing key \"speed\""},
    {"step_too_short",
     ": at /job/throughput/1: expected steps of 1e-6 s to 1e6 s; a batch of 1 at this "
     "rate takes 1e-07 s"},
    {"throughput_as_number_with_samples",
     ": at /job/throughput/1: expected a rate above 0 such as \"120 samples/s\", found 10"},
    {"throughput_as_rate_with_work",
     ": at /job/throughput/1: expected a number from 0.001 to 100000, found \"10 "
     "samples/s\""},
    {"throughput_empty", ": at /job/throughput: expected at least one point, such as {\"1\": 1.0}"},
    {"throughput_key_not_a_number",
     ": at /job/throughput: expected numbers of instances from 1 to 100000 as keys, such "
     "as \"8\", found \"two\""},
    {"throughput_key_with_zero",
     ": at /job/throughput: expected numbers of instances from 1 to 100000 as keys, such "
     "as \"8\", found \"01\""},
    {"throughput_wrong_unit",
     ": at /job/throughput/1: expected a rate above 0 such as \"120 samples/s\", found "
     "\"10 images/s\""},
    {"throughput_zero", ": at /job/throughput/1: expected a number from 0.001 to 100000, found 0"},
    {"tick_too_small", ": at /job/clock/tick: expected from 1 s to 1 d, found 1 ms"},
    {"trace_damaged",
     "@traces/damaged.csv:4:5: expected a whole number from 0 to 1000000, found \"many\""},
    {"trace_missing", "@traces/nowhere.csv: cannot be opened: No such file or directory"},
    {"trailing_comma",
     ":7:3: syntax error while parsing object key - unexpected '}'; expected string "
     "literal"},
    {"trailing_garbage",
     ":20:1: syntax error while parsing value - unexpected '}'; expected end of input"},
    {"transfer_matches_nothing",
     ": at /market/transfer: no row says what a move between \"us-east-1\" and \"eu-west-1\" "
     "costs, "
     "nor between any others"},
    {"transfer_price_unit",
     ": at /market/transfer/0/price: expected a price such as \"0.02 USD/GB\", found \"0.02 USD\""},
    {"transfer_without_size",
     ": at /market/transfer: needs a \"model_size\" in the job: the size of what is moved"},
    {"transition_beside_restart",
     ": at /job/restart: stands beside \"transition\", which says the same in more detail"},
    {"transition_size_zero",
     ": at /job/transition/rendezvous: expected sizes of the group from 1 to 100000 as keys, such "
     "as \"8\", found \"0\""},
    {"transition_system_beside_costs",
     ": at /job/transition/system: stands beside \"costs\", which says it: expected one of them"},
    {"transition_system_unknown",
     ": at /job/transition/system: expected one of custom, kungfu, or_et_al, checkpoint_restart, "
     "trial_and_error, parcae, bamboo, elasticflow, pollux, sia_cifar10, sia_deepspeech2, "
     "sia_bert, sia_yolov3, sia_imagenet, sia_ncf, found \"kung_fu\" (did you mean \"kungfu\"?)"},
    {"transition_transfer_of_nothing",
     ": at /job/transition/transfer: needs \"model_size\" of the job: what is sent"},
    {"truncated",
     ":13:1: syntax error while parsing object key - unexpected end of input; expected "
     "string literal"},
    {"two_policies_one_knob",
     ": at /replay/1: policies \"greedy\" and \"uniform_progress\" both turn market"},
    {"unknown_key", ": at /job: unknown key \"dedline\" (did you mean \"deadline\"?)"},
    {"unknown_section", ": at /: unknown key \"jobs\" (did you mean \"job\"?)"},
    {"work_and_samples",
     ": at /job: expected either \"work\" (a duration) or \"samples\" (a number), found "
     "both"},
    {"work_as_number",
     ": at /job/work: expected a duration such as \"15 min\" (ns, us, ms, s, min, h, d), "
     "found 10"},
    {"work_negative",
     ": at /job/work: expected a duration such as \"15 min\" (ns, us, ms, s, min, h, d), "
     "found \"-10 h\""},
    {"work_of_a_moment", ": at /job/work: expected from 1 s to 36600 d, found 1 ms"},
    {"work_of_ages",
     ": at /job/work: expected a duration such as \"15 min\" (ns, us, ms, s, min, h, d), "
     "found \"200 y\""},
    {"work_too_long", ": at /job/work: expected from 1 s to 36600 d, found 40000 d"},
    {"work_too_long_for_one",
     ": at /job: expected work that 1 instance can do in 36600 d, found more"},
    {"work_without_unit",
     ": at /job/work: expected a duration such as \"15 min\" (ns, us, ms, s, min, h, d), "
     "found \"10\""},
    {"work_wrong_unit",
     ": at /job/work: expected a duration such as \"15 min\" (ns, us, ms, s, min, h, d), "
     "found \"10 GB\""},
    {"zone_names_equal", ": at /market/zones/1/name: two zones are called \"a\""},
    {"zone_speed_zero", ": at /market/speed: expected a number from 0.001 to 1000, found 0"},
    {"zone_without_trace",
     ": at /market: zone \"b\" has neither \"availability\" nor \"price\", and other "
     "zones have"},
    {"zones_empty", ": at /market/zones: expected at least one zone"},
};

// The root, the list in "job" and 62 lists in it are 64 levels; the next one is too many.
std::string deep_nesting_message() {
    std::string path = "/job";
    for (int list = 0; list < 62; ++list) path += "/0";
    return fmt::format(": at {}: expected at most 64 levels of nesting, found more", path);
}

// What `ukemi check` does with a scenario.
std::string complaint_about(const std::filesystem::path& file) {
    try {
        if (file.stem().string().starts_with("simulate_")) {  // a scenario of steps
            read_step_scenario(file);
            return "(no complaint)";
        }
        const Scenario scenario = read_scenario(file);
        const NamedMarket market = make_market(scenario, scenario.seed);
        for (const PolicyList& list : scenario.policies) {
            check_policies(list, scenario, simulated_capabilities(market.data, scenario.job));
        }
    } catch (const InputError& error) {
        std::string text = error.what();
        const std::string prefix = bad_folder.string() + "/";
        for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) {
            text.erase(at, prefix.size());
        }
        return text;
    }
    return "(no complaint)";
}

std::string expected(std::string_view name, std::string_view message) {
    return message.starts_with('@') ? std::string(message.substr(1))
                                    : fmt::format("{}.json{}", name, message);
}

}  // namespace

TEST_CASE("bad scenario: each is refused in one line that says where, what and why", "[scenario]") {
    for (const Refusal& refusal : refusals) {
        CAPTURE(refusal.name);
        const auto file = bad_folder / fmt::format("{}.json", refusal.name);
        REQUIRE(std::filesystem::exists(file));
        const std::string complaint = complaint_about(file);
        CHECK(complaint == expected(refusal.name, refusal.message));
        CHECK(complaint.find('\n') == std::string::npos);
    }
}

TEST_CASE("bad scenario: what is nested deeper than 64 levels is refused", "[scenario]") {
    CHECK(complaint_about(bad_folder / "deep_nesting.json") ==
          expected("deep_nesting", deep_nesting_message()));
}

TEST_CASE("bad scenario: every file has its sentence", "[scenario]") {
    std::set<std::string> known{"deep_nesting.json"};
    for (const Refusal& refusal : refusals) known.insert(fmt::format("{}.json", refusal.name));
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(bad_folder)) {
        if (entry.path().extension() == ".json") found.insert(entry.path().filename().string());
    }
    CHECK(found == known);
}

}  // namespace ukemi
