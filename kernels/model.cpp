// model.cpp — the table of models: one file and one line each.
#include "kernels/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"

namespace ukemi {

std::unique_ptr<Model> make_mlp(const ModelSpec& spec, const DataSet& data);
std::unique_ptr<Model> make_softmax(const ModelSpec& spec, const DataSet& data);

namespace {

struct Entry {
    std::string_view kind;
    std::unique_ptr<Model> (*make)(const ModelSpec& spec, const DataSet& data);
};
constexpr std::array table{
    Entry{"mlp", make_mlp},
    Entry{"softmax", make_softmax},
};

}  // namespace

std::span<const std::string_view> model_kinds() {
    static constexpr auto kinds = [] {
        std::array<std::string_view, table.size()> names;
        std::ranges::transform(table, names.begin(), &Entry::kind);
        return names;
    }();
    return kinds;
}

std::unique_ptr<Model> make_model(const ModelSpec& spec, const DataSet& data) {
    const auto* found = std::ranges::find(table, spec.kind, &Entry::kind);
    if (found == table.end()) {
        throw InputError(
            "model", "/kind",
            fmt::format("expected mlp or softmax, found {}{}", ukemi::quoted(spec.kind),
                        did_you_mean(spec.kind, model_kinds())));
    }
    return found->make(spec, data);
}

}  // namespace ukemi
