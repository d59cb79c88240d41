// fuzz_step_scenario.cpp — any bytes at all: a scenario of steps is read, and played where it is
// small, or it is refused.
//
// Bytes seldom spell a scenario that is right. After a first byte of 0xFF, each of the others
// chooses one of the values that a key may have: most of what comes of it is right.
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/scenarios/steps/play_step_text.hpp"

namespace {

using Names = std::initializer_list<std::string_view>;

class Chooser {
public:
    explicit Chooser(std::string_view bytes) : bytes_(bytes) {}

    std::size_t number(std::size_t count) {  // below `count`; zero when there are no bytes left
        if (at_ == bytes_.size()) return 0;
        return static_cast<std::uint8_t>(bytes_[at_++]) % count;
    }
    std::string_view one_of(Names names) { return names.begin()[number(names.size())]; }
    // One byte in four, or none: most scenarios have few of the keys that may be left out.
    std::string maybe(std::string_view key, Names values) {
        if (number(4) != 1) return "";
        return fmt::format(",\"{}\":{}", key, one_of(values));
    }

private:
    std::string_view bytes_;
    std::size_t at_ = 0;
};

std::string cluster_from(Chooser& choose) {
    const auto machine = choose.one_of({"p3.2xlarge", "p3.8xlarge", "dgx_h100", "dgx1_v100",
                                        "six_gpu_box", "g4dn.12xlarge", "p4d.24xlarge"});
    return fmt::format(R"({{"machine":"{}","count":{}{}}})", machine, 1 + choose.number(8),
                       choose.maybe("network", {R"({"kind":"rails","machines_per_leaf":2})",
                                                R"({"kind":"torus","x":2,"y":2})",
                                                R"({"kind":"leaf_spine","oversubscription":3})"}));
}

std::string job_from(Chooser& choose, std::size_t number) {
    const auto model = choose.one_of({"lenet5", "resnet32", "resnet50", "vgg16", "gpt2"});
    std::string job = fmt::format(R"({{"name":"job-{}","model":"{}","batch":{},"steps":{})", number,
                                  model, 1 + choose.number(33), 1 + choose.number(4));
    job += choose.maybe("workers", {"1", "2", "3", "4", "5", "8"});
    job += choose.maybe(
        "collective", {R"("ring")", R"("binary_tree")", R"("double_binary_tree")",
                       R"("halving_doubling")", R"("star")", R"("clique")", R"("hierarchical")",
                       R"("binary_tree_star")", R"("parameter_server")", R"("dimension_search")"});
    job += choose.maybe("batch_norm", {R"("synchronised")", R"("local")"});
    job += choose.maybe("buckets", {R"({"rule":"one"})", R"({"rule":"filled","size":"4 MiB"})",
                                    R"({"rule":"chunks","size":"16 MiB"})"});
    job += choose.maybe("launch", {"{}", R"({"overhead":"100 us"})"});
    job += choose.maybe("layout", {R"({"tensor":2,"data":1})", R"({"pipeline":2,"data":1})",
                                   R"({"tensor":2,"pipeline":2,"data":1})", R"({"data":4})",
                                   R"({"pipeline":2,"schedule":"interleaved","chunks":2})"});
    job += choose.maybe("accumulation", {"1", "2", "4"});
    job += choose.maybe("stragglers", {R"({"independent":0.2})", R"({"persistent":0.5})"});
    job += choose.maybe("codec", {R"("fp16")", R"("top_k")", R"("power_sgd")", R"("qsgd")"});
    job += choose.maybe("variable_update",
                        {R"("parameter_server")", R"("replicated")", R"("all_reduce")"});
    job += choose.maybe("input", {R"({"rate":"1000 samples/s"})"});
    return job + "}";
}

std::string built_from(std::string_view bytes) {
    Chooser choose(bytes);
    std::string text = fmt::format(R"({{"name":"x","seed":{},"cluster":{},"jobs":[)",
                                   choose.number(256), cluster_from(choose));
    const std::size_t jobs = 1 + choose.number(2);
    for (std::size_t number = 0; number < jobs; ++number) {
        text += fmt::format("{}{}", number == 0 ? "" : ",", job_from(choose, number));
    }
    text += "]";
    text += choose.maybe("cross_traffic",
                         {R"([{"from":0,"to":1}])", R"([{"from":1,"to":0,"flows":3}])"});
    text += choose.maybe(
        "events", {R"([{"kind":"links","at":"10 ms","machine":0,"share":0.1,"until":"50 ms"}])",
                   R"([{"kind":"links","at":"0 s","machine":1,"share":0,"until":"20 ms"}])",
                   R"([{"kind":"leave","job":"job-0","at":"1 ms","worker":1,"delay":"1 s"}])"});
    return text + "}";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (data[0] == 0xFF) {
        ukemi::play_step_text(built_from(text.substr(1)));
    } else {
        ukemi::play_step_text(text);
    }
    return 0;
}
