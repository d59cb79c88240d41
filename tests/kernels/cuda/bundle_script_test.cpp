// bundle_script_test.cpp — what run.sh of a CUDA bundle makes of programs that pass, fail, run out
// of time or find no GPU. The programs are stand-ins; nothing is measured.
#include <sys/wait.h>

#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/scratch_folder.hpp"

namespace {

namespace fs = std::filesystem;

class Bundle {
public:
    Bundle() {
        fs::create_directories(folder_ / "lib");
        fs::create_directories(folder_ / "nothing");
        fs::create_directories(folder_ / "first");
        fs::copy_file(fs::path(UKEMI_SOURCE_DIR) / "bench/cuda_bundle.sh", folder_ / "run.sh");
        program("first/nvidia-smi", "exit 9");  // whatever GPU this machine has
        program("test_cuda", "echo 'All tests passed'");
        program("bench_cuda",
                "if [ \"$GPU\" = no ]; then echo 'no GPU answers (why): nothing "
                "measured'; fi; echo 'copy: 4000 GB/s'");
        program("bench_learners", "exit ${LEARNERS:-0}");
        program("ukemi",
                "case \"$*\" in *'--out out/box.json'*) echo \"$*\" >out/box.json;; esac; "
                "case \"$*\" in *'backend cuda'*) loss=${LOSS:-1.5};; *) loss=1.5;; esac; "
                "echo \"last loss: $loss\"");
    }
    struct Ran {
        int code = -1;
        std::string text;
    };
    Ran run(const std::string& environment, const std::string& preset = "") const {
        const fs::path out = folder_ / "said";
        const std::string command =
            fmt::format("PATH={}:$PATH UKEMI_BUNDLE_SEARCH={} {} sh {} {} >{} 2>&1",
                        (folder_ / "first").string(), (folder_ / "nothing").string(), environment,
                        (folder_ / "run.sh").string(), preset, out.string());
        const int status = std::system(command.c_str());
        std::ifstream file(out);
        std::ostringstream text;
        text << file.rdbuf();
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text.str()};
    }
    const fs::path& folder() const { return folder_.path(); }
    void program(const std::string& name, const std::string& script) const {
        std::ofstream(folder_ / name) << "#!/bin/sh\n" << script << '\n';
        fs::permissions(folder_ / name, fs::perms::owner_all);
    }

private:
    ukemi::ScratchFolder folder_;
};

// The line of the table that begins with this name.
std::string line_of(const std::string& text, const std::string& name) {
    const std::size_t begin = text.find("\n" + name + " ", text.find("== in short"));
    if (begin == std::string::npos) return {};
    return text.substr(begin + 1, text.find('\n', begin + 1) - begin - 1);
}

}  // namespace

TEST_CASE("cuda bundle: what passes is said to match, and the output is packed by day and device",
          "[cuda_bundle]") {
    const Bundle bundle;
    const Bundle::Ran ran = bundle.run("");
    CAPTURE(ran.text);
    CHECK(ran.code == 0);
    CHECK_THAT(line_of(ran.text, "train-losses"), Catch::Contains("matches: loss 1.5 on cpu, 1.5"));
    CHECK_THAT(line_of(ran.text, "nccl-resize"), Catch::Contains("left out: built without NCCL"));
    CHECK_THAT(line_of(ran.text, "trained-resnet20"),
               Catch::Contains("left out: UKEMI_BUNDLE_IMAGES names no folder"));
    CHECK_THAT(ran.text, Catch::Contains("driver: "));
    int archives = 0;
    for (const auto& entry : fs::directory_iterator(bundle.folder())) {
        archives += entry.path().string().ends_with("-unnamed-gpu.tar.gz") ? 1 : 0;
    }
    CHECK(archives == 1);
}

TEST_CASE("cuda bundle: losses that differ fail, those of a run that failed are not compared",
          "[cuda_bundle]") {
    const Bundle bundle;
    const Bundle::Ran apart = bundle.run("LOSS=1.6");
    CHECK(apart.code == 1);
    CHECK_THAT(line_of(apart.text, "train-losses"), Catch::Contains("FAILED: loss 1.5"));
    const Bundle::Ran failed = bundle.run("LEARNERS=3");
    CHECK(failed.code == 1);
    CHECK_THAT(line_of(failed.text, "learners-lenet5"), Catch::Contains("FAILED (3)"));
    CHECK_THAT(line_of(failed.text, "train-losses"), Catch::Contains("matches"));
}

TEST_CASE("cuda bundle: with images two calibrations, predictions and a group that is taken",
          "[cuda_bundle]") {
    const Bundle bundle;
    fs::create_directories(bundle.folder() / "data");
    std::ofstream(bundle.folder() / "data/images-idx3-ubyte") << "x";
    const Bundle::Ran ran =
        bundle.run("UKEMI_BUNDLE_ONLY='calibrate predict train-taken' UKEMI_BUNDLE_REPEAT=3");
    CAPTURE(ran.text);
    CHECK(ran.code == 0);
    std::ifstream typed(bundle.folder() / "out/box.json");
    std::string words;
    std::getline(typed, words);
    CHECK_THAT(words, Catch::Contains("--repeat 3 "));
    for (const char* name : {"calibrate", "predict", "train-taken"}) {
        CHECK_THAT(line_of(ran.text, name), Catch::Contains("passed"));
    }
    for (const char* name : {"tests", "calibrate-again", "train-losses"}) {
        CHECK(line_of(ran.text, name).empty());
    }
}

TEST_CASE("cuda bundle: steps that do not exist are refused, and none that was made matches",
          "[cuda_bundle]") {
    const Bundle bundle;
    const Bundle::Ran misspelt = bundle.run("UKEMI_BUNDLE_ONLY='tests predicted'");
    CAPTURE(misspelt.text);
    CHECK(misspelt.code == 2);
    CHECK_THAT(misspelt.text, Catch::Contains("there is no step 'predicted'; there are tests "));
    const Bundle::Ran none = bundle.run("UKEMI_BUNDLE_ONLY=predict");
    CAPTURE(none.text);
    CHECK(none.code == 2);
    CHECK_THAT(none.text, Catch::Contains("NOTHING was checked or measured"));
    CHECK(none.text.find("everything matches") == std::string::npos);
    CHECK_THAT(line_of(none.text, "calibrate, train-taken"), Catch::Contains("has no images"));
    // What was not asked for is not said to be left out.
    for (const char* name : {"nccl-resize", "live", "trained-resnet20", "memcheck"}) {
        CHECK(line_of(none.text, name).empty());
    }
}

TEST_CASE("cuda bundle: parts by name for a machine that is there for several runs",
          "[cuda_bundle]") {
    const Bundle bundle;
    fs::create_directories(bundle.folder() / "data/all");
    std::ofstream(bundle.folder() / "data/images-idx3-ubyte") << "x";
    for (const char* name : {"bench_learners", "bench_cuda", "test_cuda"}) {
        bundle.program(name, "echo \"given: $*\"");
    }
    const Bundle::Ran images = bundle.run("", "resnet20");
    CAPTURE(images.text);
    CHECK(images.code == 0);
    CHECK_THAT(images.text, Catch::Contains("--train-seconds 150 --images data/all/train-images-"
                                            "idx3-ubyte.gz --labels data/all/train-labels-"
                                            "idx1-ubyte.gz --test-images"));
    CHECK(line_of(images.text, "tests").empty());

    const Bundle::Ran calibrations = bundle.run("", "calibrations");
    CAPTURE(calibrations.text);
    CHECK(calibrations.code == 0);
    for (const char* name : {"calibrate", "calibrate-again", "predict"}) {
        CHECK_THAT(line_of(calibrations.text, name), Catch::Contains("passed"));
    }

    // A sanitizer that runs what it is given.
    bundle.program("nothing/compute-sanitizer", "shift 4; exec \"$@\"");
    const Bundle::Ran races = bundle.run("", "racecheck");
    CAPTURE(races.text);
    CHECK(races.code == 0);
    CHECK_THAT(races.text, Catch::Contains("given: device network: gradients*"));
    CHECK_THAT(line_of(races.text, "racecheck-gradients"), Catch::Contains("passed"));
    for (const char* name : {"memcheck", "initcheck", "synccheck"}) {
        CHECK(line_of(races.text, name).empty());
        CHECK_THAT(line_of(bundle.run(fmt::format("UKEMI_BUNDLE_ONLY={}", name)).text, name),
                   Catch::Contains("passed"));
    }
    CHECK(bundle.run("", "everything").code == 2);
}

TEST_CASE("cuda bundle: what has too little time is not begun, and no torn log is replayed",
          "[cuda_bundle]") {
    const Bundle bundle;
    fs::create_directories(bundle.folder() / "data");
    std::ofstream(bundle.folder() / "data/images-idx3-ubyte") << "x";
    // One calibration takes 65 s at least, three of them 155.
    const std::string asked = "UKEMI_BUNDLE_ONLY='calibrate predict' UKEMI_BUNDLE_REPEAT=3 ";
    const Bundle::Ran late = bundle.run(asked + "UKEMI_BUNDLE_SECONDS=150");
    CAPTURE(late.text);
    CHECK(late.code == 2);
    CHECK_THAT(line_of(late.text, "calibrate"), Catch::Contains("left out: no time left"));
    CHECK(bundle.run(asked + "UKEMI_BUNDLE_SECONDS=170").code == 0);

    bundle.program("ukemi",
                   "mkdir -p out/train-taken/runs/a; case \"$1\" in train) exit 124;; "
                   "replay-log) exit 1;; esac");
    const Bundle::Ran torn = bundle.run("UKEMI_BUNDLE_ONLY='train-taken replay-log'");
    CAPTURE(torn.text);
    CHECK(torn.code == 2);
    CHECK_THAT(line_of(torn.text, "train-taken"), Catch::Contains("out of time"));
    CHECK_THAT(line_of(torn.text, "replay-log"), Catch::Contains("skipped"));
}

TEST_CASE("cuda bundle: a program that finds nothing to work with is left out, not passed",
          "[cuda_bundle]") {
    const Bundle bundle;
    bundle.program("bench_nccl_resize", "echo 'no NCCL: libnccl.so.2: nothing measured'; exit 77");
    const Bundle::Ran ran = bundle.run("");
    CAPTURE(ran.text);
    CHECK(ran.code == 0);
    CHECK_THAT(line_of(ran.text, "nccl-resize"), Catch::Contains("left out: no NCCL: libnccl"));
    CHECK(bundle.run("UKEMI_BUNDLE_ONLY=nccl-resize").code == 2);  // nothing was measured
}

TEST_CASE("cuda bundle: without time nothing fails, and the losses are skipped", "[cuda_bundle]") {
    const Bundle bundle;
    const Bundle::Ran ran = bundle.run("UKEMI_BUNDLE_SECONDS=0");
    CAPTURE(ran.text);
    CHECK(ran.code == 2);
    CHECK_THAT(line_of(ran.text, "train-cuda"), Catch::Contains("left out: no time left"));
    CHECK_THAT(line_of(ran.text, "train-losses"), Catch::Contains("skipped (no time)"));
    CHECK(ran.text.find("FAILED") == std::string::npos);
}

TEST_CASE("cuda bundle: without a GPU it says so, and nothing is called measured",
          "[cuda_bundle]") {
    const Bundle bundle;
    const Bundle::Ran ran = bundle.run("GPU=no");
    CAPTURE(ran.text);
    CHECK(ran.code == 77);
    CHECK_THAT(ran.text, Catch::Contains("no GPU answers here: why"));
    CHECK_THAT(line_of(ran.text, "profile"), Catch::Contains("skipped: no GPU answers"));
    CHECK_THAT(line_of(ran.text, "calibrate, train-taken"), Catch::Contains("has no images"));
    CHECK_THAT(ran.text, Catch::Contains("device: no-gpu (why)"));
}
