#include "plots/figures.hpp"

#include <catch2/catch.hpp>

#include "base/input_error.hpp"
#include "tests/plots/scratch_folder.hpp"
#include "tests/plots/without_gnuplot.hpp"

namespace ukemi {
namespace {

// Two policies, two traces. The dearer one stands first, so that sorting has something to do.
plots::FigureInput two_policies() {
    plots::FigureInput input;
    input.deadline_h = 10;
    input.runs = {
        {"steady", "west", 1, 40, 8, true, {38, 0, 0, 2, 0, 0}},
        {"steady", "east", 1, 40, 8, true, {38, 0, 0, 2, 0, 0}},
        {"daring", "west", 1, 10, 9, true, {7, 1, 1, 0.5, 0.25, 0.25}},
        {"daring", "east", 2, 20, 11, false, {13, 3, 2, 1, 0.5, 0.5}},
    };
    return input;
}

plots::TimelineInput short_run() {
    plots::TimelineInput run;
    run.title = "daring on west";
    run.spot_held = {{0, 2}, {1.5, 0}, {3, 2}};
    run.on_demand_held = {{2, 1}, {3, 0}};
    run.capacity = {{0, 3}, {1.5, 0}, {3, 3}};
    run.price = {{0, 0.9}, {2, 1.1}};
    run.progress = {{0, 0}, {1.5, 0.5}, {1.5, 0.4}, {4, 1}};
    run.revocations_h = {1.5, 1.5};
    run.deadline_h = 5;
    run.end_h = 4;
    run.instances_max = 4;
    return run;
}

plots::TopologyInput two_gpus() {
    plots::TopologyInput box;
    box.title = "box";
    box.devices = {{"gpu", "gpu0", 0}, {"gpu", "gpu1", 0}};
    box.cables = {{0, 1, "nvlink", 2, 50}};
    return box;
}

// Input for every figure in the table.
plots::FigureInput every_kind() {
    plots::FigureInput input = two_policies();
    for (plots::RunPoint& run : input.runs) {
        run.deadline_h = run.trace == "west" ? 10 : 14;
        run.usd_by_market = {run.cost_usd / 2, run.cost_usd / 2};
    }
    input.timelines = {short_run(), short_run()};
    input.timelines[1].file_stem = "timeline-zones";
    input.timelines[1].prices = {{{0, 0.5}, {2, 0.75}}, {{0, 1}, {2, 4}}};
    plots::MarketInput& market = input.markets.emplace_back();
    market.title = "two zones";
    market.zones = {{"east", {{0, 2}, {3, 0}}, {{0, 0.5}, {1, 0.75}}, 0, 5},
                    {"west", {{1, 1}}, {}, 1, 4}};
    plots::SurvivalInput& survival = input.survivals.emplace_back();
    survival.title = "how long an instance lived";
    survival.time_axis = "time";
    survival.curves = {{"east", false, {{0.5, 0.75}, {2, 0.25}}}, {"law", true, {{1, 0.5}}}};
    input.hourly_losses = {{"east", false, {}}, {"law", true, {}}};
    input.hourly_losses[0].share_of_days[23] = 0.5;
    input.hourly_losses[1].share_of_days.fill(0.25);
    input.topology = two_gpus();
    input.learning = {{"steady", {{0, 0}, {2, 1}}, {}, {{0, 32}, {2, 32}}},
                      {"growing", {{0, 0}, {1, 1}}, {}, {{0, 32}, {0.5, 512}, {1, 512}}}};
    input.learning[0].metric_by_samples = {{0, 0.1}, {64, 0.5}};
    input.learning[0].metric_by_samples_band = {{{0, 0.1}, {64, 0.4}}, {{0, 0.1}, {64, 0.6}}};
    input.learning[1].noise_by_samples = {{0, 10}, {64, 200}};
    input.transitions = {{"waiting", 2, {0, 5, 30, 1, 2, 0.5}, {0, 0.25, 1.5, 0.5, 0.5, 0.25}},
                         {"training on", 3, {0, 0, 0, 8, 0, 0}, {1, 0, 2, 0.5, 0, 0}}};
    plots::VariationInput& variation = input.variations.emplace_back();
    variation.title = "cost against overhead";
    variation.axis = "overhead (s)";
    variation.column = "overhead_s";
    variation.quantities = {{"cost", "cost (USD)", "cost_usd"}};
    variation.columns = {"east", "west"};
    variation.lines = {{"daring", 0, {{1, {{10, std::pair(9.0, 11.0)}}, 0}, {30, {{12}}, 0.5}}},
                       {"steady", 1, {{1, {{20}}, 0}}}};
    plots::VariationInput& scaling = input.scaling.emplace();
    scaling.axis = scaling.column = "workers";
    scaling.quantities = {{"throughput", "samples/s", "samples_per_s", true}};
    scaling.columns = {""};
    scaling.lines = {
        {"job",
         0,
         {{1, {{100, std::nullopt, 100.0}}, 0}, {32, {{2400, std::nullopt, 3200.0}}, 0}}}};
    input.completions = {survival};
    input.completions[0].file_stem = "completion_times";
    input.completions[0].simulated = true;
    input.queues = {variation};
    input.finish_time_ratios = {variation};
    input.found = {variation};
    plots::MachineUseInput& use = input.machine_uses.emplace_back();
    use.title = "who held what";
    use.gpus_of = {4, 2};
    use.jobs = {"wide", "narrow"};
    use.bars = {{0, 0, 4, 0, 2, 0}, {1, 0, 1, 0.5, 3, 1}};
    use.spans = {{0, 0, 2, 4}, {1, 0.5, 3, 1}};
    input.job_hours = {{"fifo", "wide", {3, 0.5, 0.25, 0, 0, 0.25}}, {"fifo", "narrow", {1}}};
    input.step_parts = {{{"input", "waiting for input"}, {"compute", "compute (mean worker)"}},
                        {{"one", {0, 0.25}}, {"two", {0.125, 0.5}}}};
    return input;
}

}  // namespace

TEST_CASE("cost_and_time: one row a policy, the cheapest first", "[figures][golden]") {
    const ScratchFolder folder;
    plots::draw_cost_and_time(two_policies(), folder.path(), without_gnuplot());
    // daring: costs 10 and 20, mean 15, quartiles 12.5 and 17.5. Their standard deviation is
    // 5√2, so the error of the mean is 5, and t(0.975, 1) = 12.7062: 15 ± 63.531.
    const std::string text = folder.text_of("cost_and_time.csv");
    const std::string header =
        "row,runs,cost_usd_mean,cost_usd_mean_low_95,cost_usd_mean_high_95,cost_usd_min,"
        "cost_usd_quartile_1,cost_usd_median,cost_usd_quartile_3,cost_usd_max,duration_h_mean,"
        "duration_h_mean_low_95,duration_h_mean_high_95,duration_h_min,duration_h_quartile_1,"
        "duration_h_median,duration_h_quartile_3,duration_h_max,deadline_missed_share,policy\n";
    REQUIRE(text.substr(0, header.size()) == header);
    const std::string rows = text.substr(header.size());
    CHECK(rows.substr(0, rows.find("-48.53")) == "0,2,15,");
    CHECK(rows.find(",78.53") != std::string::npos);
    CHECK(rows.find(",10,12.5,15,17.5,20,10,") != std::string::npos);
    CHECK(rows.find(",9,9.5,10,10.5,11,0.5,daring\n1,2,40,40,40,40,40,40,40,40,8,8,8,8,8,8,8,8,0,"
                    "steady\n") != std::string::npos);
}

TEST_CASE("cost_and_time: every run is a row of its own", "[figures][golden]") {
    const ScratchFolder folder;
    plots::draw_cost_and_time(two_policies(), folder.path(), without_gnuplot());
    // The spread is the fraction of n × 0.618 034: 0.618, then 1.236 068.
    CHECK(folder.text_of("cost_and_time_runs.csv") ==
          "row,spread,cost_usd,duration_h,deadline_met,seed,trace,policy\n"
          "0,0.618,10,9,1,1,west,daring\n"
          "0,0.236,20,11,0,2,east,daring\n"
          "1,0.618,40,8,1,1,west,steady\n"
          "1,0.236,40,8,1,1,east,steady\n");
}

TEST_CASE("cost_and_time: runs without a deadline neither meet nor miss one", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_policies();
    for (plots::RunPoint& run : input.runs) run.deadline_met.reset();
    plots::draw_cost_and_time(input, folder.path(), without_gnuplot());
    CHECK(folder.text_of("cost_and_time_runs.csv").find("\n0,0.618,10,9,,1,west,daring\n") !=
          std::string::npos);
    CHECK(folder.text_of("cost_and_time.csv").find(",11,,daring\n") != std::string::npos);
    CHECK(folder.text_of("cost_and_time.gp").find("'missed ") == std::string::npos);
}

TEST_CASE("cost_by_cause: means over the runs, with their total", "[figures][golden]") {
    const ScratchFolder folder;
    plots::draw_cost_by_cause(two_policies(), folder.path(), without_gnuplot());
    CHECK(folder.text_of("cost_by_cause.csv") ==
          "row,runs,useful_usd,redone_usd,transition_usd,checkpoint_usd,idle_usd,wasted_usd,"
          "total_usd,policy\n"
          "0,2,10,2,1.5,0.75,0.375,0.375,15,daring\n"
          "1,2,38,0,0,2,0,0,40,steady\n");
    const std::string script = folder.text_of("cost_by_cause.gp");
    // 10 of 15 dollars are two thirds.
    CHECK(script.find("'15.00 USD, 67 % useful'") != std::string::npos);
    CHECK(script.find("names[1] = 'daring'\nnames[2] = 'steady'\n") != std::string::npos);
}

TEST_CASE("cost_by_cause: the same dollars by market where both were bought", "[figures][golden]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_policies();
    for (plots::RunPoint& run : input.runs) run.usd_by_market = {run.cost_usd, 0};
    const auto script_of = [&] {
        plots::draw_cost_by_cause(input, folder.path(), without_gnuplot());
        return folder.text_of("cost_by_cause.gp");
    };
    CHECK(script_of().find("bought") == std::string::npos);  // all on spot: the bars say so
    input.runs[2].usd_by_market = {4, 6};
    const std::string script = script_of();
    CHECK(script.find("title 'bought on spot'") != std::string::npos);
    // Of columns 10 and 11, as shares of one bar below the causes.
    CHECK(script.find("1*(sum [c=10:11] column(c))") != std::string::npos);
    CHECK(folder.text_of("cost_by_cause.csv") ==
          "row,runs,useful_usd,redone_usd,transition_usd,checkpoint_usd,idle_usd,wasted_usd,"
          "total_usd,spot_usd,on_demand_usd,policy\n"
          "0,2,10,2,1.5,0.75,0.375,0.375,15,12,3,daring\n"
          "1,2,38,0,0,2,0,0,40,40,0,steady\n");
    input.runs[0].usd_by_market.reset();  // of an older version
    CHECK(script_of().find("bought") == std::string::npos);
    input.runs[0].usd_by_market = {-1, 0};
    CHECK(plots::draw_cost_by_cause(input, folder.path(), without_gnuplot()).problem ==
          "cost_by_cause: a run of policy steady has a number that is negative or not finite");
}

TEST_CASE("cost_by_cause: egress is a part of the bill where any run has some", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_policies();
    for (plots::RunPoint& run : input.runs) run.usd_by_market = {run.cost_usd, 1};
    input.runs[2].egress_usd = 10;  // of daring's two runs
    plots::draw_cost_by_cause(input, folder.path(), without_gnuplot());
    CHECK_THAT(folder.text_of("cost_by_cause.csv"),
               Catch::Contains(",wasted_usd,egress_usd,total_usd,spot_usd,on_demand_usd,policy\n"
                               "0,2,10,2,1.5,0.75,0.375,0.375,5,20,15,1,daring\n"));
    const std::string script = folder.text_of("cost_by_cause.gp");
    CHECK_THAT(script, Catch::Contains("'20.00 USD, 50 % useful'"));
    CHECK_THAT(script, Catch::Contains("($11+$12+$9)"));  // the thinner bar ends with it, too
    CHECK(script.find("'egress'") == script.rfind("'egress'"));
}

TEST_CASE("transition_phases: a row each, in the order given, with its sums", "[figures][golden]") {
    const ScratchFolder folder;
    const plots::FigureResult result =
        plots::draw_transition_phases(every_kind(), folder.path(), without_gnuplot());
    CHECK(result.skipped);
    CHECK(folder.text_of("transition_phases.csv") ==
          "row,transitions,notice_s,drain_s,spawn_s,rendezvous_s,transfer_s,warm_up_s,"
          "standstill_s,notice_machine_h,drain_machine_h,spawn_machine_h,rendezvous_machine_h,"
          "transfer_machine_h,warm_up_machine_h,machine_h,name\n"
          "0,2,0,5,30,1,2,0.5,38.5,0,0.25,1.5,0.5,0.5,0.25,3,waiting\n"
          "1,3,0,0,0,8,0,0,8,1,0,2,0.5,0,0,3.5,training on\n");
    const std::string script = folder.text_of("transition_phases.gp");
    CHECK(script.find("'38.5 s in 2'") != std::string::npos);
    CHECK(script.find("names[1] = 'waiting'\nnames[2] = 'training on'\n") != std::string::npos);
    plots::FigureInput broken = every_kind();
    broken.transitions[1].standstill_s[3] = -1;
    CHECK(plots::draw_transition_phases(broken, folder.path(), without_gnuplot()).problem ==
          "transition_phases: a number of training on is negative or not finite");
    broken.transitions.clear();
    CHECK(plots::draw_transition_phases(broken, folder.path(), without_gnuplot()).problem ==
          "transition_phases: there are no transitions to draw");
}

TEST_CASE("scaling: throughput beside the ideal, on logarithmic axes", "[figures][golden]") {
    const ScratchFolder folder;
    plots::draw_scaling(every_kind(), folder.path(), without_gnuplot());
    CHECK(folder.text_of("scaling.csv") ==
          "line,workers,samples_per_s_mean,samples_per_s_low_95,samples_per_s_high_95,"
          "samples_per_s_ideal,missed_share,policy,variant\n"
          "0,1,100,,,100,0,job,\n0,32,2400,,,3200,0,job,\n");
    const std::string script = folder.text_of("scaling.gp");
    CHECK(script.find("set logscale x\n") != std::string::npos);
    CHECK(script.find("set logscale y\n") != std::string::npos);
    CHECK(script.find("title 'ideal'") != std::string::npos);
    CHECK(plots::draw_scaling({}, folder.path(), without_gnuplot()).problem ==
          "scaling: there is nothing to draw");
}

TEST_CASE("step_parts: a row each, in milliseconds where steps are short", "[figures][golden]") {
    const ScratchFolder folder;
    plots::FigureInput input = every_kind();
    plots::draw_step_parts(input, folder.path(), without_gnuplot());
    CHECK(folder.text_of("step_parts.csv") ==
          "row,input_s,compute_s,step_s,name\n0,0,0.25,0.25,one\n1,0.125,0.5,0.625,two\n");
    const std::string script = folder.text_of("step_parts.gp");
    CHECK(script.find("'250 ms, 100 %'") != std::string::npos);
    CHECK(script.find("'625 ms, 80 %'") != std::string::npos);
    CHECK(script.find("1000*(sum [c=2:3] column(c))") != std::string::npos);
    input.step_parts->rows[0].part_s[0] = -1;
    CHECK(plots::draw_step_parts(input, folder.path(), without_gnuplot()).problem ==
          "step_parts: a number of one is negative or not finite");
}

TEST_CASE("gpu_hours_by_job: a row a job, sums where there are many", "[figures][golden]") {
    const ScratchFolder folder;
    plots::FigureInput input = every_kind();
    plots::draw_gpu_hours_by_job(input, folder.path(), without_gnuplot());
    CHECK(folder.text_of("gpu_hours_by_job.csv") ==
          "row,useful_h,redone_h,transition_h,checkpoint_h,idle_h,wasted_h,held_h,name\n"
          "0,3,0.5,0.25,0,0,0.25,4,fifo: wide\n1,1,0,0,0,0,0,1,fifo: narrow\n");
    CHECK(folder.text_of("gpu_hours_by_job.gp").find("'240 min, 75 %'") != std::string::npos);
    CHECK(folder.text_of("gpu_hours_by_job.gp").find("'GPU time held (min), useful share'") !=
          std::string::npos);
    for (int i = 0; i < 40; ++i) input.job_hours.push_back({"srtf", "one", {0.5, 0.5}});
    plots::draw_gpu_hours_by_job(input, folder.path(), without_gnuplot());
    CHECK(folder.text_of("gpu_hours_by_job.csv")
              .ends_with("0,4,0.5,0.25,0,0,0.25,5,fifo\n1,20,20,0,0,0,0,40,srtf\n"));
    input.job_hours[0].by_cause[1] = -1;
    CHECK(plots::draw_gpu_hours_by_job(input, folder.path(), without_gnuplot()).problem ==
          "gpu_hours_by_job: a number is negative or not finite");
}

TEST_CASE("gpus_by_job: a lane a GPU, the first machine on top", "[figures][golden]") {
    const ScratchFolder folder;
    plots::FigureInput input = every_kind();
    plots::draw_gpus_by_job(input, folder.path(), without_gnuplot());
    // A machine's lanes fill 0.88 of its row.
    CHECK(folder.text_of("gpus_by_job.csv") ==
          "begin_h,end_h,low,high,look,machine,first_gpu,gpus,job,name\n"
          "0,2,-0.88,0,0,0,0,4,0,wide\n0.5,3,-1.44,-1,1,1,0,1,1,narrow\n");
    const std::string script = folder.text_of("gpus_by_job.gp");
    CHECK(script.find("array jobs[2] = ['wide', 'narrow']") != std::string::npos);
    CHECK(script.find("set label 1000 jobs[1] at ") != std::string::npos);
    input.machine_uses[0].bars[1].first_gpu = 2;
    const auto refused = plots::draw_gpus_by_job(input, folder.path(), without_gnuplot());
    CHECK(refused.problem == "gpus_by_job: a time of a job, a machine or GPUs that there are not");
}

TEST_CASE("gpus_by_job: parts of GPUs stand above each other", "[figures][golden]") {
    const ScratchFolder folder;
    plots::FigureInput input = every_kind();
    plots::MachineUseInput& use = input.machine_uses[0];
    use.bars.clear();
    use.spans = {{0, 0, 2, 1.5}, {1, 1, 2, 0.5}, {1, 2, 3, 4}};
    const auto drawn = plots::draw_gpus_by_job(input, folder.path(), without_gnuplot());
    CHECK(drawn.notes.empty());
    CHECK(folder.text_of("gpus_by_job.csv") ==
          "look,t_h,low_gpus,high_gpus,gpus,job\n"
          "0,0,0,1.5,1.5,wide\n0,1,0,1.5,1.5,wide\n0,1,0,1.5,1.5,wide\n0,2,0,1.5,1.5,wide\n"
          "0,2,0,0,0,wide\n0,3,0,0,0,wide\n"
          "1,0,1.5,1.5,0,narrow\n1,1,1.5,1.5,0,narrow\n1,1,1.5,2,0.5,narrow\n"
          "1,2,1.5,2,0.5,narrow\n1,2,0,4,4,narrow\n1,3,0,4,4,narrow\n");
    const std::string script = folder.text_of("gpus_by_job.gp");
    CHECK(script.find("set ylabel 'GPUs held'") != std::string::npos);
    CHECK(script.find("looks[1] = '0 wide'\nlooks[2] = '1 narrow'\n") != std::string::npos);
    use.spans[0].gpus = std::nan("");
    CHECK_FALSE(plots::draw_gpus_by_job(input, folder.path(), without_gnuplot()).problem.empty());
}

TEST_CASE("gpus_by_job: every look is one job's, the rest of many jobs is grey",
          "[figures][golden]") {
    const ScratchFolder folder;
    plots::FigureInput input;
    plots::MachineUseInput& use = input.machine_uses.emplace_back();
    use.gpus_of = {8};
    // Twenty of 50 jobs, the even ones first, hold their GPU for longer than any other.
    for (std::size_t job = 0; job < 50; ++job) {
        const double long_h = job % 2 == 0 && job < 40 ? 0.9 : 0.5;
        const auto at_h = static_cast<double>(job);
        use.jobs.push_back(fmt::format("job-{}", job));
        use.spans.push_back({job, at_h, at_h + long_h, 1});
        use.bars.push_back({0, 0, 1, at_h, at_h + long_h, job});
    }
    plots::draw_gpus_by_job(input, folder.path(), without_gnuplot());
    const std::string script = folder.text_of("gpus_by_job.gp");
    CHECK(script.find("array looks[21]\nlooks[1] = '0 job-0'\nlooks[2] = '2 job-2'\n") !=
          std::string::npos);
    CHECK(script.find("looks[21] = '30 other jobs'\n") != std::string::npos);
    std::set<std::string> looks;
    std::size_t keys = 0;
    for (std::size_t at = 0; (at = script.find("NaN with boxes ", at)) != script.npos; ++at) {
        looks.insert(script.substr(at, script.find(" title ", at) - at));
        ++keys;
    }
    CHECK(keys == 21);
    CHECK(looks.size() == 21);
    // None of very many jobs stands out: they are told apart by how many GPUs they have.
    plots::FigureInput crowd;
    plots::MachineUseInput& even = crowd.machine_uses.emplace_back();
    even.gpus_of = {8};
    for (std::size_t job = 0; job < 300; ++job) {
        even.jobs.push_back(fmt::format("job-{}", job));
        even.spans.push_back({job, 0, 1, std::array{0.5, 1.0, 4.0}[job % 3]});
    }
    plots::draw_gpus_by_job(crowd, folder.path(), without_gnuplot());
    CHECK(folder.text_of("gpus_by_job.gp")
              .find("array looks[2]\nlooks[1] = 'up to 1 GPU: 200 jobs'\n"
                    "looks[2] = '3 to 4 GPUs: 100 jobs'\n") != std::string::npos);
    CHECK(folder.text_of("gpus_by_job.csv").ends_with("2,1,150,550,400,3 to 4 GPUs\n"));
    // More machines than a page has rows for: the same jobs above each other.
    use.gpus_of.resize(100, 8);
    plots::draw_gpus_by_job(input, folder.path(), without_gnuplot());
    CHECK(folder.text_of("gpus_by_job.csv").starts_with("look,t_h,low_gpus,"));
    CHECK(folder.text_of("gpus_by_job.gp").find("'30 other jobs'") != std::string::npos);
}

TEST_CASE("timeline: a short run is shown in seconds", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input;
    input.timelines = {short_run()};
    input.timelines[0].deadline_h.reset();
    for (const auto& [end_h, unit] : {std::pair(0.05, "(s)"), std::pair(4.0, "(min)"),
                                      std::pair(40.0, "(h)"), std::pair(4000.0, "(d)")}) {
        CAPTURE(end_h);
        input.timelines[0].end_h = end_h;
        plots::draw_timeline(input, folder.path(), without_gnuplot());
        CHECK(folder.text_of("timeline.gp").find(std::string("set xlabel 'time ") + unit) !=
              std::string::npos);
    }
}

TEST_CASE("figures: --only leaves what it names", "[figures]") {
    const ScratchFolder folder;
    plots::FigureOptions options = without_gnuplot();
    options.style.only = {"timeline/price", "topology"};
    plots::draw_all(every_kind(), folder.path(), options);
    CHECK(std::filesystem::exists(folder.path() / "topology.gp"));
    CHECK_FALSE(std::filesystem::exists(folder.path() / "cost_and_time.gp"));
    const std::string script = folder.text_of("timeline.gp");
    CHECK(script.find("_price.csv") != std::string::npos);
    CHECK(script.find("_instances.csv'") == std::string::npos);
    CHECK(script.find("_progress.csv") == std::string::npos);
}

TEST_CASE("figures: the names of their files begin with theirs, and --only takes both",
          "[figures]") {
    const ScratchFolder folder;
    const plots::FigureResult all = plots::draw_all(every_kind(), folder.path(), without_gnuplot());
    std::set<std::string> drawn;
    for (const std::filesystem::path& file : all.files) {
        if (file.extension() != ".gp") continue;
        const std::string stem = file.stem().string();
        CAPTURE(stem);
        const plots::Figure* const figure = plots::figure_of_file(stem);
        REQUIRE(figure != nullptr);
        drawn.emplace(figure->name);
        // As `ukemi plot` prints it, and as `ukemi list figures` does.
        const std::string picture = (folder.path() / stem).string() + ".svg";
        CHECK(plots::only_name(picture) == stem);
        CHECK(plots::only_name(stem) == stem);
        CHECK(plots::only_name(figure->name) == std::string(figure->name));
        plots::FigureOptions options = without_gnuplot();
        options.style.only = {stem};
        const ScratchFolder alone;
        plots::draw_all(every_kind(), alone.path(), options);
        CHECK(alone.text_of(stem + ".gp") == folder.text_of(stem + ".gp"));
        for (const auto& entry : std::filesystem::directory_iterator(alone.path())) {
            CAPTURE(entry.path());
            const bool first = figure->name == stem;  // names the whole figure
            CHECK((entry.path().extension() != ".gp" || first || entry.path().stem() == stem));
        }
    }
    CHECK(drawn.size() == plots::all_figures().size());
    CHECK(drawn.contains("completion_times"));
    for (const char* unknown : {"queue", "timeline_greedy", "timeline/cost", "r/timeline", ""}) {
        CAPTURE(unknown);
        CHECK_THROWS_AS(plots::only_name(unknown), InputError);
    }
    CHECK(plots::only_name("timeline/price") == "timeline/price");
    CHECK(plots::only_name("price") == "price");
}

TEST_CASE("figures: drawn in a column's width, every legend at every place", "[figures]") {
    if (!gnuplot_is_here()) {
        WARN("skipped: gnuplot is not installed");
        return;
    }
    const ScratchFolder folder;
    plots::FigureOptions options;
    options.style.width_in = 3.3;
    options.style.font_pt = 8;
    options.style.legend = GENERATE(plots::LegendPlace::usual, plots::LegendPlace::below,
                                    plots::LegendPlace::right, plots::LegendPlace::none);
    const plots::FigureResult result = plots::draw_all(every_kind(), folder.path(), options);
    CHECK(result.problem.empty());
    for (const plots::Figure& figure : plots::all_figures()) {
        const std::string name(figure.name);
        CAPTURE(name);
        CHECK(folder.text_of(name + ".svg").find("width=\"330\"") != std::string::npos);
        CHECK(folder.text_of(name + ".gp").find("size 3.3,") != std::string::npos);
    }
}

TEST_CASE("timeline: the last value holds until the end", "[figures][golden]") {
    const ScratchFolder folder;
    plots::FigureInput input;
    input.timelines = {short_run()};
    input.timelines.front().workers = {{0, 1}, {1.5, 0}, {3.5, 2}};
    plots::draw_timeline(input, folder.path(), without_gnuplot());
    CHECK(folder.text_of("timeline_instances.csv") ==
          "t_h,spot_held,on_demand_held,workers,capacity\n"
          "0,2,0,1,3\n1.5,0,0,0,0\n2,0,1,0,0\n3,2,0,0,3\n3.5,2,0,2,3\n4,2,0,2,3\n");
    CHECK(folder.text_of("timeline.gp").find("workers") != std::string::npos);
    CHECK(folder.text_of("timeline_price.csv") ==
          "t_h,usd_per_instance_hour\n0,0.9\n2,1.1\n4,1.1\n");
    CHECK(folder.text_of("timeline_progress.csv") ==
          "t_h,work_done_share\n0,0\n1.5,0.5\n1.5,0.4\n4,1\n");
    CHECK(folder.text_of("timeline_revocations.csv") == "t_h\n1.5\n1.5\n");
}

TEST_CASE("timeline: of several zones, from the lowest price to the highest", "[figures][golden]") {
    const ScratchFolder folder;
    plots::FigureInput input;
    input.timelines = {short_run()};
    plots::TimelineInput& run = input.timelines.front();
    run.prices = {{{0, 0.5}, {2, 0.75}}, {{0, 1}, {2, 4}}};
    plots::draw_timeline(input, folder.path(), without_gnuplot());
    CHECK(folder.text_of("timeline_price.csv") ==
          "t_h,usd_per_instance_hour_lowest,usd_per_instance_hour_highest\n"
          "0,0.5,1\n2,0.5,1\n2,0.75,4\n4,0.75,4\n");
    const std::string script = folder.text_of("timeline.gp");
    CHECK(script.find("using ($1*unit):2:3 with filledcurves") != std::string::npos);
    CHECK(script.find("set yrange [0:4.4]") != std::string::npos);  // a tenth above the highest
    CHECK(script.find("title 'lowest price'") != std::string::npos);
    run.prices.high[1].first = 3;
    CHECK(plots::draw_timeline(input, folder.path(), without_gnuplot()).problem ==
          "timeline: the lowest and the highest price must be of the same times");
}

TEST_CASE("timeline: what is not known is left out", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input;
    input.timelines = {short_run()};
    plots::TimelineInput& run = input.timelines.front();
    run.file_stem = "timeline-bare";
    run.price.clear();
    run.capacity.clear();
    run.progress.clear();
    run.revocations_h.clear();
    run.deadline_h.reset();
    const plots::FigureResult result = plots::draw_timeline(input, folder.path());
    CHECK(result.problem == (gnuplot_is_here() ? "" : result.problem));
    CHECK_FALSE(std::filesystem::exists(folder.path() / "timeline-bare_price.csv"));
    CHECK(folder.text_of("timeline-bare_instances.csv").find("3,2,0,,\n") != std::string::npos);
    CHECK(folder.text_of("timeline-bare.gp").find("no price is known") != std::string::npos);
}

namespace {

// gnuplot leaves out the name of an axis that it thinks lies outside of the picture.
void check_axes(const std::string& script, const std::string& picture) {
    const std::string begin = "set xlabel '";
    for (std::size_t at = script.find(begin); at != std::string::npos;
         at = script.find(begin, at + 1)) {
        const std::size_t name = at + begin.size();
        const std::string axis = script.substr(name, script.find('\'', name) - name);
        CAPTURE(axis);
        CHECK(picture.find(">" + axis + "<") != std::string::npos);
    }
}

}  // namespace

TEST_CASE("figures: every one is drawn, twice the same", "[figures]") {
    if (!gnuplot_is_here()) {
        WARN("skipped: gnuplot is not installed");
        return;
    }
    const ScratchFolder one;
    const ScratchFolder two;
    const plots::FigureInput input = every_kind();
    const plots::FigureResult result =
        plots::draw_all(input, one.path(), {.pdf = true, .gnuplot = "gnuplot"});
    CHECK(result.problem.empty());
    CHECK_FALSE(result.skipped);
    for (const auto& file : result.files) {
        CAPTURE(file.string());
        CHECK(std::filesystem::file_size(file) > 0);
    }
    plots::draw_all(input, two.path());
    for (const plots::Figure& figure : plots::all_figures()) {
        const std::string name(figure.name);
        CAPTURE(name);
        const std::string picture = one.text_of(name + ".svg");
        CHECK(picture.find("</svg>") != std::string::npos);
        check_axes(one.text_of(name + ".gp"), picture);
        CHECK(picture == two.text_of(name + ".svg"));
        CHECK(one.text_of(name + ".png").substr(1, 3) == "PNG");
        CHECK(one.text_of(name + ".pdf").substr(0, 5) == "%PDF-");
        CHECK_FALSE(std::filesystem::exists(two.path() / (name + ".pdf")));
    }
    CHECK(one.text_of("cost_and_time.svg").find("missed 50 %") != std::string::npos);
    CHECK(one.text_of("timeline.svg").find("revocations (at 2 times)") != std::string::npos);
}

TEST_CASE("figures: a script draws the same picture again, and without a word", "[figures]") {
    if (!gnuplot_is_here()) {
        WARN("skipped: gnuplot is not installed");
        return;
    }
    const ScratchFolder folder;
    plots::draw_all(every_kind(), folder.path());
    for (const plots::Figure& figure : plots::all_figures()) {
        const std::string name(figure.name);
        CAPTURE(name);
        const std::string before = folder.text_of(name + ".svg");
        std::filesystem::remove(folder.path() / (name + ".svg"));
        const std::string command =
            "cd '" + folder.path().string() + "' && gnuplot " + name + ".gp >said 2>&1";
        CHECK(std::system(command.c_str()) == 0);
        CHECK(folder.text_of("said").empty());
        CHECK(folder.text_of(name + ".svg") == before);
    }
}

TEST_CASE("figures: without gnuplot, data and scripts are kept and it is said once", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_policies();
    input.timelines = {short_run()};
    const plots::FigureResult result = plots::draw_all(input, folder.path(), without_gnuplot());
    CHECK(result.skipped);
    CHECK(result.problem ==
          "no-such-gnuplot was not found (Debian package gnuplot-nox): figures "
          "are skipped, their data and scripts are in " +
              folder.path().string());
    CHECK(result.files.size() == 10);  // 3 scripts; 2 + 1 + 4 tables
    for (const auto& file : result.files) {
        CAPTURE(file.string());
        CHECK(std::filesystem::exists(file));
    }
}

}  // namespace ukemi
