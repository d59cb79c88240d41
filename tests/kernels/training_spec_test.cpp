// training_spec_test.cpp — the spec travels as text and comes back equal, or is refused by path.
#include "kernels/training_spec.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "base/input_error.hpp"

using namespace ukemi;
using namespace ukemi::kernels;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

TrainingSpec full_spec() {
    TrainingSpec spec;
    spec.data = {.kind = "idx", .images = "folder/im\"ages", .labels = "labels", .samples = 1000};
    spec.model = {.kind = "mlp", .hidden = {128, 64}};
    spec.optimiser = {.momentum = 0.9,
                      .weight_decay = 1e-4,
                      .averaging_rate = 1.0 / 3,
                      .averaging_momentum = 0.1};
    spec.step = {.bucket_bytes = 12'345,
                 .launch = LaunchMode::coordinated,
                 .seed = std::numeric_limits<std::int64_t>::max(),
                 .noise_smoothing = 0.6};
    spec.seed = 7;
    return spec;
}

std::string complaint(const json& document) {
    try {
        training_spec_from(document.dump());
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

json with(std::string_view pointer, const json& value) {
    json document = json::parse(training_spec_text(full_spec()));
    document[json::json_pointer(std::string(pointer))] = value;
    return document;
}

}  // namespace

TEST_CASE("training spec: the text holds every field", "[training_spec]") {
    const TrainingSpec spec = full_spec();
    const TrainingSpec read = training_spec_from(training_spec_text(spec));
    CHECK(read.data.kind == "idx");
    CHECK(read.data.images == spec.data.images);
    CHECK(read.data.labels == "labels");
    CHECK(read.data.samples == 1000);
    CHECK(read.model.kind == "mlp");
    CHECK(read.model.hidden == std::vector<std::int32_t>{128, 64});
    CHECK(read.optimiser.momentum == 0.9);
    CHECK(read.optimiser.weight_decay == 1e-4);
    CHECK(read.optimiser.averaging_rate == 1.0 / 3);
    CHECK(read.optimiser.averaging_momentum == 0.1);
    CHECK(read.step.bucket_bytes == 12'345);
    CHECK(read.step.launch == LaunchMode::coordinated);
    CHECK(read.step.seed == std::numeric_limits<std::int64_t>::max());
    CHECK(read.step.noise_smoothing == 0.6);
    CHECK(read.seed == 7);
    CHECK(training_spec_text(read) == training_spec_text(spec));
    TrainingSpec synthetic;
    synthetic.data = {.samples = 10, .features = 3, .classes = 4, .seed = 5};
    synthetic.step.error_feedback = false;
    const TrainingSpec told = training_spec_from(training_spec_text(synthetic));
    CHECK(told.data.features == 3);
    CHECK(told.data.classes == 4);
    CHECK(told.data.seed == 5);
    CHECK_FALSE(told.step.error_feedback);
}

TEST_CASE("training spec: of a script it holds the script, and no model of ours",
          "[training_spec]") {
    TrainingSpec spec;
    spec.script = "/folder/tr\"ain.py";
    spec.step = {.bucket_bytes = 77, .seed = 5, .error_feedback = false, .noise_smoothing = 0.5};
    spec.seed = 6;
    const std::string text = training_spec_text(spec);
    const TrainingSpec read = training_spec_from(text);
    CHECK(read.script == spec.script);
    CHECK(read.step.bucket_bytes == 77);
    CHECK_FALSE(read.step.error_feedback);
    CHECK(training_spec_text(read) == text);
    CHECK(job_identity(read) != job_identity(full_spec()));
    json document = json::parse(text);
    CHECK(document.size() == 6);
    document["model"] = {{"kind", "softmax"}};
    CHECK_THAT(complaint(document), Contains("/model: is for the script to say: leave it out"));
    document = json::parse(text);
    document["script"] = "";
    CHECK_THAT(complaint(document), Contains("/script: expected the path of a Python file"));
    document["script"] = "beside.py";  // a worker takes no path that depends on where it runs
    CHECK_THAT(complaint(document), Contains("expected every key, as training_spec_text writes"));
}

TEST_CASE("training spec: what workers of a script cannot do is refused", "[training_spec]") {
    TrainingSpec script;
    script.script = "train.py";
    policies::Plan plan;
    plan.batch_per_learner = 8;
    CHECK(step_refusal(script, plan, 3).empty());
    plan.codec = policies::Codec::fp16;
    CHECK(step_refusal(script, plan, 3).empty());
    plan.codec = policies::Codec::terngrad;
    CHECK(step_refusal(script, plan, 3).empty());
    plan.codec_level = -1;
    CHECK_THAT(step_refusal(script, plan, 3), Contains("codec terngrad: expected a number"));
    plan.codec_level = 0;
    plan.codec = policies::Codec::none;
    plan.collective = policies::Collective::ring;
    CHECK_THAT(step_refusal(script, plan, 3), Contains("the collective automatic"));
    plan.collective = policies::Collective::automatic;
    plan.synchronisation = policies::Synchronisation::synchronous_averaging;
    CHECK(step_refusal(script, plan, 3).empty());
    plan.learners_per_gpu = 2;
    CHECK_THAT(step_refusal(script, plan, 3), Contains("one learner each"));
    plan.synchronisation = policies::Synchronisation::local_sgd;
    CHECK(step_refusal(script, plan, 3) == "local_sgd cannot be trained here");
}

TEST_CASE("training spec: the identity tells jobs apart", "[training_spec]") {
    TrainingSpec spec = full_spec();
    const std::uint64_t identity = job_identity(spec);
    CHECK(job_identity(full_spec()) == identity);
    spec.optimiser.weight_decay = 2e-4;
    CHECK(job_identity(spec) != identity);
}

TEST_CASE("training spec: other texts are refused by path", "[training_spec]") {
    CHECK(complaint(with("/seed", 8)) == "accepted");
    CHECK_THAT(complaint(with("/data/kind", "cifar")), Contains("at /data/kind"));
    CHECK_THAT(complaint(with("/model/kind", "lenet")), Contains("at /model/kind"));
    CHECK_THAT(complaint(with("/model/hidden", 128)), Contains("at /model/hidden"));
    CHECK_THAT(complaint(with("/model/hidden/1", 2.5)), Contains("whole numbers of units"));
    CHECK_THAT(complaint(with("/optimiser/momentum", -0.1)), Contains("at /optimiser/momentum"));
    CHECK_THAT(complaint(with("/optimiser/momentum", nullptr)), Contains("at /optimiser/momentum"));
    CHECK_THAT(complaint(with("/launch", "coordinate")), Contains("did you mean \"coordinated\"?"));
    CHECK_THAT(complaint(with("/bucket", "0 B")), Contains("at /bucket: expected from 1 byte"));
    CHECK_THAT(complaint(with("/seed", -1)), Contains("at /seed"));
    CHECK_THAT(complaint(with("/seeds", 1)), Contains("unknown key \"seeds\""));
    json document = with("/seed", 1);
    document.erase("model");
    CHECK_THAT(complaint(document), Contains("every key"));
    CHECK_THROWS_AS(training_spec_from("{\"data\": "), InputError);
    TrainingSpec odd;
    odd.data.kind = "idx";
    odd.data.images = "\xff\xfe";
    CHECK_THROWS_WITH(training_spec_text(odd), Contains("/data/images: expected a path in UTF-8"));
}
