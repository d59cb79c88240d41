// commands_test.cpp — the commands beside replay: help, list, check, import, plot, and every way in
// which a command line can be wrong.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>

#include "cli/command_line.hpp"
#include "kernels/codec.hpp"
#include "plots/figures.hpp"
#include "policies/registry.hpp"
#include "sim/cluster/gpu_profile.hpp"
#include "sim/cluster/machine_spec.hpp"
#include "sim/cluster/model_profile.hpp"
#include "tests/cli/child.hpp"
#include "traces/generator.hpp"
#include "traces/public_datasets.hpp"
#include "traces/reader.hpp"

namespace ukemi {

TEST_CASE("ukemi: help and version are answers, on standard output", "[cli]") {
    const ScratchFolder scratch;
    for (const char* command : {"",      "replay", "train",    "calibrate", "predict",    "check",
                                "list",  "import", "describe", "fit",       "replay-log", "plot",
                                "diff",  "worker", "agent",    "simulate",  "init",       "schema",
                                "sweep", "query",  "merge",    "schedule",  "search"}) {
        CAPTURE(command);
        std::vector<std::string> arguments{"--help"};
        if (*command != '\0') arguments.insert(arguments.begin(), command);
        const Ran ran = run_ukemi(scratch.path(), arguments);
        CHECK(ran.code == 0);
        CHECK(ran.err.empty());
        CHECK_THAT(ran.out, Catch::Contains("Usage: ukemi") && Catch::Contains("Exit codes: 0"));
    }
    const Ran version = run_ukemi(scratch.path(), {"--version"});
    CHECK(version.code == 0);
    CHECK_THAT(version.out, Catch::StartsWith("ukemi 0."));
    // The commit of this build, not of the configuration long ago.
    const Ran git =
        run_program("/usr/bin/git", UKEMI_SOURCE_DIR, {"rev-parse", "--short=12", "HEAD"});
    if (git.code == 0) CHECK_THAT(version.out, Catch::Contains(git.out.substr(0, 12)));
}

TEST_CASE("ukemi train and calibrate: cuda without a GPU is refused before anything starts",
          "[cli]") {
    const ScratchFolder scratch;
    const std::string scenario = UKEMI_SOURCE_DIR "/scenarios/learners/two_worlds.json";
    // Hides the GPUs of a machine that has some.
    ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
    for (const std::string command : {"train", "calibrate", "predict"}) {
        std::vector<std::string> words{command, scenario, "--backend", "cuda", "--out", "o"};
        if (command == "predict") words.insert(words.end(), {"--costs", "box.json"});
        const Ran ran = run_ukemi(scratch.path(), words);
        CAPTURE(command);
        CHECK(ran.code == 1);
        CHECK(ran.out.empty());
        CHECK_THAT(ran.err, Catch::StartsWith("ukemi: --backend cuda: "));
        CHECK_THAT(ran.err,
                   Catch::Contains("this build has CUDA") || Catch::Contains("built without CUDA"));
        CHECK(std::ranges::count(ran.err, '\n') == 1);
        CHECK(std::filesystem::is_empty(scratch.path()));
    }
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    const Ran wrong = run_ukemi(scratch.path(), {"train", scenario, "--backend", "abacus"});
    CHECK(wrong.code == 2);
    CHECK_THAT(wrong.err, Catch::Contains("cpu") && Catch::Contains("cuda"));
}

TEST_CASE("ukemi calibrate: leaves nothing behind where there is nothing to measure", "[cli]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "untrained.json",
               R"({"name": "untrained", "seed": 1, "job": {"work": "1 h"}, "cluster": {"count": 1},
                   "market": {"on_demand_price": "3 USD/h", "spot_price": "1 USD/h"},
                   "replay": ["spot_only"]})");
    for (int time = 0; time < 2; ++time) {  // what were left behind would be in the way
        const Ran ran =
            run_ukemi(scratch.path(), {"calibrate", "untrained.json", "--out", "b.json"});
        CHECK(ran.code == 2);
        CHECK_THAT(ran.err, Catch::Contains("untrained.json: at /training: missing"));
    }
    write_file(scratch.path() / "other.json", "{}");
    const Ran ran = run_ukemi(scratch.path(), {"calibrate", "untrained.json", "--out", "b.json",
                                               "--compare", "other.json"});
    CHECK(ran.code == 2);
    CHECK_THAT(ran.err, Catch::Contains("other.json: at /: expected costs, as ukemi calibrate"));
    CHECK_FALSE(std::filesystem::exists(scratch.path() / "b.json-checkpoints"));
}

TEST_CASE("ukemi: a wrong command line is one line, with the nearest name, and exit code 2",
          "[cli]") {
    struct Wrong {
        std::vector<std::string> arguments;
        const char* complaint;
    };
    const ScratchFolder scratch;
    write_file(scratch.path() / "b.csv", capacity_csv);
    std::vector<std::string> names;
    for (const cli::CommandExamples& one : cli::command_examples()) names.push_back(one.command);
    const std::string commands = fmt::format("({})", fmt::join(names, ", "));
    const std::string expected = "expected a command " + commands;
    const Wrong wrong[] = {
        {{}, expected.c_str()},
        {{"replya"}, "found \"replya\" (did you mean \"replay\"?)"},
        {{"qwertyuiop"}, "found \"qwertyuiop\""},
        {{"--hlep"}, "unexpected argument \"--hlep\" (did you mean \"--help\"?)"},
        {{"replay"}, "SCENARIO is required (see ukemi replay --help)"},
        {{"replay", "a.json", "--seed=3"}, "\"--seed=3\" (did you mean \"--seeds\"?)"},
        {{"replay", "a.json", "--polices", "x"}, "\"--polices\" (did you mean \"--policies\"?)"},
        {{"replay", "a.json", "--traces", "a.csv", "b.csv"},
         "\"b.csv\" (put a pattern in quotation marks"},
        {{"replay", "a.json", "-j", "0"}, "--threads: Value 0 not in range 1 to 1024"},
        {{"replay", "a.json", "--policies", ""}, "--policies: expected a value, found nothing"},
        {{"train", "a.json", "--policies="}, "--policies: 1 required TEXT missing"},
        {{"compare", "a.json", "--out", ""}, "--out: expected a value, found nothing"},
        {{"replay", "a.json", "--seeds", ""}, "--seeds: expected a value, found nothing"},
        {{"check", ""}, "SCENARIO: expected a value, found nothing"},
        {{"replay", "a.json", "--details", "most"}, "--details: most not in {none,first,all}"},
        {{"check"}, "SCENARIO is required (see ukemi check --help)"},
        {{"import", "auto"}, "FILE is required (see ukemi import --help)"},
        {{"diff", "a"}, "MEASURED is required (see ukemi diff --help)"},
        {{"describe"}, "expected traces or --topology, found neither"},
        {{"describe", "--topology", "dgx1_v10"}, "did you mean \"dgx1_v100\"?"},
        {{"describe", "--topology", "dgx1_v100", "a.csv"}, "found both"},
        {{"describe", "--topology", "nosuch.xml"}, "nosuch.xml: cannot be opened: "},
        {{"describe", "--topology", "dgx1_v100", "--machines", "100000"},
         "ukemi: --machines: expected 1 to 65536 machines, found 100000"},
        {{"list", "polcies"}, "no list of \"polcies\" (did you mean \"policies\"?)"},
        {{"list", "nonsense"}, "no list of \"nonsense\": expected one of scenarios, policies, "},
        {{"simulate", "a.json", "--runners-up", "3"}, "--runners-up requires --search"},
        {{"replay", "a.json"}, "a.json: cannot be opened: No such file or directory"},
        {{"replay-log", "no.jsonl"}, "no.jsonl: cannot be opened: No such file or directory"},
        {{"check", "no\nway.json"}, "no\\nway.json: cannot be opened"},
    };
    for (const Wrong& each : wrong) {
        CAPTURE(each.arguments);
        const Ran ran = run_ukemi(scratch.path(), each.arguments);
        CHECK(ran.code == 2);
        CHECK(ran.out.empty());
        CHECK(is_one_line(ran.err));
        CHECK_THAT(ran.err, Catch::Contains(each.complaint));
    }
    CHECK_THAT(run_ukemi(scratch.path(), {"x"}).err, Catch::Contains(commands));
}

TEST_CASE("ukemi train: what a worker would refuse is refused before any starts", "[cli]") {
    const ScratchFolder scratch;
    const std::string scenario = UKEMI_SOURCE_DIR "/scenarios/learners/two_worlds.json";
    for (const std::string command : {"train", "calibrate"}) {
        CAPTURE(command);
        const Ran ran = run_ukemi(scratch.path(), {command, scenario, "--out", "out", "--set",
                                                   "/training/optimiser/weight_decay=2"});
        CHECK(ran.code == 2);
        CHECK(ran.err ==
              "ukemi: " + scenario +
                  ": at /training/optimiser/weight_decay: expected a number from 0 to 1, found "
                  "2\n");
    }
    const Ran seed =
        run_ukemi(scratch.path(), {"train", scenario, "--seed", "9223372036854775808"});
    CHECK(seed.code == 2);
    CHECK_THAT(seed.err, Catch::Contains("--seed"));
}

TEST_CASE("ukemi fit --learning: published training beside the laws, each row with its role",
          "[cli]") {
    const ScratchFolder scratch;
    std::string epochs = "dataset,network,batch_size,optimizer,target_metric,target_epoch\n";
    for (const int batch : {32, 64, 128, 256, 512}) {
        epochs += fmt::format("digits,mlp,{},sgd,0.9,{}\n", batch, 3 + batch / 64);
    }
    write_file(scratch.path() / "zeus/summary_train.csv", epochs);
    const Ran ran = run_ukemi(scratch.path(), {"fit", "--learning", "."});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains("batch 512"));
    CHECK_THAT(ran.out, Catch::Contains("left out: ./pollux/traces: not there\n"));
    CHECK_THAT(ran.out, Catch::Contains("batch 32768") &&
                            Catch::Contains("  chosen after seeing\n") &&
                            Catch::Contains("; naive mean ") && Catch::Contains("  fitted\n") &&
                            Catch::Contains("Titan X"));
    CHECK(run_ukemi(scratch.path(), {"fit", "--learning", "nowhere"}).code == 2);
    const std::vector<std::string> write{"fit", "--learning", ".", "--out", "found/here"};
    const Ran wrote = run_ukemi(scratch.path(), write);
    INFO(wrote.err);
    REQUIRE(wrote.code == 0);
    CHECK_THAT(wrote.out, Catch::EndsWith("wrote found/here/goyal.json\n"));
    CHECK(run_ukemi(scratch.path(), {"check", "found/here/goyal.json"}).code == 0);
    const Ran again = run_ukemi(scratch.path(), write);
    CHECK(again.code == 2);  // it is there already
    CHECK(is_one_line(again.err));
    std::filesystem::create_directories(scratch.path() / "empty/pollux/traces");
    for (const char* folder : {"empty", "empty/pollux"}) {
        const Ran nothing = run_ukemi(scratch.path(), {"fit", "--learning", folder});
        CHECK(nothing.code == 2);
        CHECK(nothing.out.empty());
        CHECK(is_one_line(nothing.err));
    }
    CHECK(run_ukemi(scratch.path(), {"fit"}).code == 2);
    CHECK(run_ukemi(scratch.path(), {"fit", "a.csv", "--learning", "."}).code == 2);
}

TEST_CASE("ukemi list: each kind names everything in its table", "[cli]") {
    const ScratchFolder scratch;
    const auto listed = [&](const char* kind) {
        const Ran ran = run_ukemi(scratch.path(), {"list", kind});
        CHECK(ran.code == 0);
        CHECK(ran.err.empty());
        return ran.out;
    };
    for (const policies::PolicyEntry& each : policies::all_policies()) {
        CHECK_THAT(listed("policies"), Catch::Contains(fmt::format("\n{} ", each.name)));
    }
    for (const traces::TraceForm& each : traces::all_trace_forms()) {
        CHECK_THAT(listed("traces"), Catch::Contains(std::string(each.name)));
    }
    for (const traces::PublicDataset& each : traces::all_public_datasets()) {
        CHECK_THAT(listed("datasets"), Catch::Contains(fmt::format("\n{} ", each.name)) &&
                                           Catch::Contains(std::string(each.repository)) &&
                                           Catch::Contains(std::string(each.licence)));
    }
    for (const traces::MarketParameters& each : traces::all_market_parameters()) {
        CHECK_THAT(listed("markets"), Catch::Contains(std::string(each.name)));
    }
    for (const plots::Figure& each : plots::all_figures()) {
        CHECK_THAT(listed("figures"), Catch::Contains(std::string(each.name)));
    }
    const std::string kinds = run_ukemi(scratch.path(), {"list"}).out;
    for (const sim::MachineSpec& each : sim::all_machines()) {
        CHECK_THAT(listed("machines"), Catch::Contains(std::string(each.name)));
    }
    for (const sim::GpuProfile& each : sim::all_gpus()) {
        CHECK_THAT(listed("gpus"), Catch::Contains(std::string(each.name)));
    }
    for (const sim::ModelEntry& each : sim::all_models()) {
        CHECK_THAT(listed("models"), Catch::Contains(std::string(each.name)));
    }
    for (const kernels::CodecEntry& each : kernels::all_codecs()) {
        CHECK_THAT(listed("codecs"), Catch::Contains(std::string(each.name)));
    }
    for (const char* kind :
         {"policies", "codecs", "traces", "markets", "figures", "machines", "gpus", "models"}) {
        CHECK_THAT(kinds, Catch::Contains(kind));
    }
}

TEST_CASE("ukemi describe: a machine in words and as a picture", "[cli]") {
    const ScratchFolder scratch;
    const Ran ran =
        run_ukemi(scratch.path(), {"describe", "--topology", "dgx1_v100", "--out", "picture"});
    CHECK(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains("gpu 8, cpu 2, pcie_switch 4, nic 4"));
    CHECK_THAT(ran.out, Catch::Contains("4 GPUs    4 nvlink"));
    CHECK_THAT(ran.out, Catch::Contains("5 GPUs    2 relayed"));
    CHECK(std::filesystem::exists(scratch.path() / "picture/topology.gp"));
    write_file(scratch.path() / "c.json", R"({"machine": "p3.8xlarge", "count": 3})");
    const Ran cluster = run_ukemi(scratch.path(), {"describe", "--topology", "c.json"});
    CHECK(cluster.code == 0);
    CHECK_THAT(cluster.out, Catch::Contains("machines 3, gpu 12"));
    write_file(scratch.path() / "pcie.xml", R"(<system version="1"><cpu arch="x86_64">
        <pci busid="0000:17:00.0" device="0x20b2"><gpu dev="0" sm="80"/></pci>
        <pci busid="0000:65:00.0" device="0x20b2"><gpu dev="1" sm="80"/></pci></cpu></system>)");
    const Ran pcie = run_ukemi(scratch.path(), {"describe", "--topology", "pcie.xml"});
    CHECK_THAT(pcie.out, Catch::Contains("first GPUs (line rate)\n   2 GPUs    1 routed"));
    write_file(scratch.path() / "storage.txt",
               "\tGPU0\tGPU1\tNIC0\tNIC1\tNIC2\nGPU0\tX\tNV4\tPIX\tSYS\tSYS\n"
               "GPU1\tNV4\tX\tSYS\tPIX\tSYS\nNIC0\tPIX\tSYS\tX\tSYS\tSYS\n"
               "NIC1\tSYS\tPIX\tSYS\tX\tSYS\nNIC2\tSYS\tSYS\tSYS\tSYS\tX\n");
    const Ran storage = run_ukemi(scratch.path(), {"describe", "--topology", "storage.txt"});
    CHECK_THAT(storage.out, Catch::Contains("nic 2, 1 port of NICs left out\n"));
    write_file(scratch.path() / "storage.json", R"({"name": "s", "seed": 1, "cluster":
        {"machine": "storage.txt", "gpu": "v100_sxm2_32gb", "count": 2,
         "links": {"bandwidth": "100 Gbit/s"}},
        "job": {"model": "resnet50", "batch": 8, "steps": 2}})");
    const Ran simulated = run_ukemi(scratch.path(), {"simulate", "storage.json"});
    CHECK(simulated.code == 0);
    CHECK_THAT(simulated.out,
               Catch::Contains("2 x storage.txt on single_switch, 1 port of NICs left out"));
    write_file(scratch.path() / "broken.xml", "<system version=\"1\">\n<cpu>");
    const Ran broken = run_ukemi(scratch.path(), {"describe", "--topology", "broken.xml"});
    CHECK(broken.code == 2);
    CHECK_THAT(broken.err,
               Catch::Contains("broken.xml:2:5: expected XML: Start-end tags mismatch"));
}

TEST_CASE("ukemi check: every file is looked at, and one bad file is exit code 2", "[cli]") {
    const ScratchFolder scratch;
    const auto bad = write_file(scratch.path() / "bad.json", "{}");
    const std::string good = shipped("market/demo.json").string();
    const Ran ran = run_ukemi(scratch.path(), {"check", "bad.json", good});
    CHECK(ran.code == 2);
    CHECK_THAT(ran.err, Catch::StartsWith("ukemi: bad.json: at /: missing key \"name\"\n"));
    CHECK(ran.out == good + ": ok (6 policy lists, 1 zone)\n");
    CHECK(run_ukemi(scratch.path(), {"check", good}).code == 0);
}

TEST_CASE("ukemi check: what changes of the group cost, and where the numbers come from", "[cli]") {
    const ScratchFolder scratch;
    const Ran ran =
        run_ukemi(scratch.path(), {"check", shipped("size/resize_costs.json").string()});
    CHECK(ran.code == 0);
    const auto has = [](const Ran& output, std::string_view change, std::string_view phase,
                        std::string_view time, std::string_view origin) {
        const std::string row = fmt::format("    {:<8} {:<22} {:>10}{}{}\n", change, phase, time,
                                            origin.empty() ? "" : "  ", origin);
        CHECK_THAT(output.out, Catch::Contains(row));
    };
    has(ran, "start", "rendezvous", "2.7 s", "or_et_al");
    has(ran, "shrink", "in all", "2.7 s", "");
    has(ran, "spawn", "while the others train", "30 s", "or_et_al");
    has(ran, "reattach", "while the others train", "2.3 s", "or_et_al");
    CHECK_THAT(ran.out, Catch::Contains("    or_et_al: input, Or et al., MLSys'20"));
    // What the scenario says itself is marked, wherever the rest comes from.
    const auto with_transition = [&](std::string_view transition) {
        write_file(scratch.path() / "own.json", fmt::format(R"({{"name": "own", "seed": 1,
            "job": {{"samples": 1000, "batch": 10, "throughput": {{"1": "10 samples/s"}},
                     "model_size": "1.25 GB", "transition": {}}},
            "cluster": {{"count_min": 1, "count_max": 8}},
            "market": {{"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"}},
            "replay": ["on_demand"]}})",
                                                            transition));
        const Ran own = run_ukemi(scratch.path(), {"check", "own.json"});
        CHECK(own.code == 0);
        return own;
    };
    const Ran typed = with_transition(R"({"system": "or_et_al", "spawn": "36 s",
        "reattach": "0 s", "grow": {"warm_up": "4 s"}, "transfer": {"bandwidth": "10 Gbit/s"}})");
    has(typed, "start", "rendezvous", "2.7 s", "or_et_al");
    has(typed, "grow", "transfer", "4 s", "input");
    has(typed, "grow", "warm_up", "4 s", "input");
    has(typed, "grow", "in all", "10.7 s", "");
    has(typed, "spawn", "while the others train", "36 s", "input");
    has(typed, "reattach", "while the others train", "0 s", "input");
    CHECK_THAT(typed.out, !Catch::Contains("shrink   warm_up") && !Catch::Contains("restarts"));
    const Ran program = with_transition(R"({"system": "trial_and_error", "saves_first": true})");
    has(program, "restarts", "", "all", "trial_and_error");
    has(program, "saves", "before planned changes", "yes", "input");
}

TEST_CASE("ukemi check: what --resolved prints is the same scenario with nothing left out",
          "[cli]") {
    const ScratchFolder scratch;
    const Ran first =
        run_ukemi(scratch.path(), {"check", "--resolved", shipped("market/demo.json").string()});
    CHECK(first.code == 0);
    CHECK_THAT(first.out, Catch::Contains("\"after_last_row\": \"end\""));
    write_file(scratch.path() / "again.json", first.out);
    CHECK(run_ukemi(scratch.path(), {"check", "--resolved", "again.json"}).out == first.out);
}

TEST_CASE("ukemi check: reads scenarios of steps, too, and each command names the other's",
          "[cli]") {
    const ScratchFolder scratch;
    const std::string steps = shipped("steps/losses.json").string();
    const Ran ran = run_ukemi(scratch.path(), {"check", steps});
    CHECK(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains("losses.json: ok (1 job, 8 x p3.8xlarge on ") &&
                            Catch::Contains("nccl (as usual on machines with NVLink): ring/LL128"));
    const std::string resolved = run_ukemi(scratch.path(), {"check", "--resolved", steps}).out;
    CHECK_THAT(resolved, Catch::Contains("\"events\"") && Catch::Contains("\"precision\"") &&
                             Catch::Contains("\"workers\": ") && !Catch::Contains("\"transport\""));
    CHECK_THAT(run_ukemi(scratch.path(), {"check", "--help"}).out,
               Catch::Contains("in the sections that it has"));
    const Ran replay = run_ukemi(scratch.path(), {"replay", steps});
    CHECK(replay.code == 2);
    CHECK_THAT(replay.err, Catch::Contains("at /cluster: names machines: `ukemi simulate` runs"));
    const Ran simulate =
        run_ukemi(scratch.path(), {"simulate", shipped("market/demo.json").string()});
    CHECK(simulate.code == 2);
    CHECK_THAT(simulate.err, Catch::Contains("at /market: this is a job on a market: `ukemi "
                                             "replay` runs it"));
}

TEST_CASE("ukemi import: says what it found and writes the plain form once", "[cli]") {
    const ScratchFolder scratch;
    // One node from the first minute, a second one for the third.
    write_file(scratch.path() / "group.csv",
               "0,add,node1\n120000,add,node2\n180000,remove,node2\n");
    const Ran report = run_ukemi(scratch.path(), {"import", "auto", "group.csv"});
    CHECK(report.code == 0);
    CHECK_THAT(report.out, Catch::StartsWith("group.csv: bamboo_events, 3 rows"));
    CHECK(names_in(scratch.path()) == std::vector<std::string>{"group.csv"});

    const std::vector<std::string> wanted{"import", "bamboo_events", "group.csv", "--out", "plain"};
    const Ran written = run_ukemi(scratch.path(), wanted);
    CHECK(written.code == 0);
    CHECK_THAT(written.out, Catch::Contains("wrote plain/group.availability.csv"));
    CHECK_THAT(text_in(scratch.path() / "plain/group.availability.csv"),
               Catch::Contains("\nt_s,instances\n0,1\n120,2\n180,1\n"));
    const Ran again = run_ukemi(scratch.path(), wanted);
    CHECK(again.code == 2);
    CHECK(again.err ==
          "ukemi: plain/group.availability.csv: is there already; --force replaces it\n");
    std::vector<std::string> forced = wanted;
    forced.emplace_back("--force");
    CHECK(run_ukemi(scratch.path(), forced).code == 0);
    CHECK(run_ukemi(scratch.path(), {"import", "auto", "plain/group.availability.csv"}).code == 0);
}

TEST_CASE("ukemi import: a damaged or misnamed file is refused with its place", "[cli]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "cut.csv", "0,add,node1\n120000,ad");
    write_file(scratch.path() / "cut.json", R"({"metadata": {"gap_seconds": 300}, "data": [1, 0)");
    struct Wrong {
        std::vector<std::string> arguments;
        const char* complaint;
    };
    const Wrong wrong[] = {
        {{"import", "auto", "cut.csv"}, "ukemi: cut.csv:2:"},
        {{"import", "auto", "cut.json"}, "ukemi: cut.json:1:"},
        {{"import", "bambo_events", "cut.csv"},
         "ukemi: import: no trace form \"bambo_events\" (did you mean \"bamboo_events\"?)"},
        {{"import", "auto", "cut.csv", "--gap", "5"}, "ukemi: --gap: expected a duration such as"},
    };
    for (const Wrong& each : wrong) {
        CAPTURE(each.arguments);
        const Ran ran = run_ukemi(scratch.path(), each.arguments);
        CHECK(ran.code == 2);
        CHECK(is_one_line(ran.err));
        CHECK_THAT(ran.err, Catch::StartsWith(each.complaint));
    }
}

TEST_CASE("ukemi: output that cannot be written is a failure of the machine, in one line",
          "[cli]") {
    const ScratchFolder scratch;
    const Ran full = run_ukemi(scratch.path(), {"list", "policies"}, Output::full_disk);
    CHECK(full.code == 1);
    CHECK(full.err == "ukemi: cannot write to standard output: No space left on device\n");
    const Ran closed = run_ukemi(scratch.path(), {"list", "policies"}, Output::closed);
    CHECK(closed.code == 1);
    CHECK(is_one_line(closed.err));
    // As every filter does: a reader that is gone needs no complaints.
    const Ran piped = run_ukemi(scratch.path(), {"list", "policies"}, Output::pipe_without_reader);
    CHECK(piped.code == -SIGPIPE);
    CHECK(piped.err.empty());
}

}  // namespace ukemi
