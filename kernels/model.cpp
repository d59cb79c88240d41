// model.cpp — the table of models: one file and one line each.
#include "kernels/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"

namespace ukemi::kernels {

std::unique_ptr<Model> make_cnn(const ModelSpec& spec, const DataSet& data);
std::unique_ptr<Model> make_mlp(const ModelSpec& spec, const DataSet& data);
std::unique_ptr<Model> make_softmax(const ModelSpec& spec, const DataSet& data);
std::unique_ptr<Model> make_lenet5(const ModelSpec& spec, const DataSet& data);
std::unique_ptr<Model> make_resnet20(const ModelSpec& spec, const DataSet& data);
std::unique_ptr<Model> make_resnet32(const ModelSpec& spec, const DataSet& data);

namespace {

struct ModelMaker {
    std::string_view kind;
    std::unique_ptr<Model> (*make)(const ModelSpec& spec, const DataSet& data);
};
constexpr std::array model_table{
    ModelMaker{"cnn", make_cnn},           ModelMaker{"lenet5", make_lenet5},
    ModelMaker{"mlp", make_mlp},           ModelMaker{"resnet20", make_resnet20},
    ModelMaker{"resnet32", make_resnet32}, ModelMaker{"softmax", make_softmax},
};

}  // namespace

std::span<const std::string_view> model_kinds() {
    static constexpr auto kinds = [] {
        std::array<std::string_view, model_table.size()> names;
        std::ranges::transform(model_table, names.begin(), &ModelMaker::kind);
        return names;
    }();
    return kinds;
}

std::unique_ptr<Model> make_model(const ModelSpec& spec, const DataSet& data) {
    const auto* found = std::ranges::find(model_table, spec.kind, &ModelMaker::kind);
    if (found == model_table.end()) {
        throw InputError(
            "model", "/kind",
            fmt::format("expected cnn, lenet5, mlp, resnet20, resnet32 or softmax, found {}{}",
                        ukemi::quoted(spec.kind), did_you_mean(spec.kind, model_kinds())));
    }
    return found->make(spec, data);
}

}  // namespace ukemi::kernels
