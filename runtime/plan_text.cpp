// plan_text.cpp — the JSON of records/plan_json.hpp: sorted keys, doubles that read back equal.
#include "runtime/plan_text.hpp"

#include <nlohmann/json.hpp>

#include <span>
#include <stdexcept>

#include "base/input_error.hpp"
#include "base/json_document.hpp"
#include "kernels/bit_hash.hpp"
#include "records/plan_json.hpp"

namespace ukemi::runtime {

std::string plan_text(const policies::Plan& plan) { return records::to_json(plan).dump(); }

policies::Plan plan_from_text(std::string_view text) {
    const nlohmann::json json = parse_json(text, "plan");
    try {
        return records::plan_from(json);
    } catch (const std::invalid_argument& problem) {
        throw InputError("plan", "", problem.what());
    } catch (const nlohmann::json::exception& problem) {
        throw InputError("plan", "", problem.what());
    }
}

std::uint64_t plan_digest(const policies::Plan& plan) {
    const std::string text = plan_text(plan);
    kernels::BitHash hash;
    hash.add(std::as_bytes(std::span(text)));
    return hash.value();
}

}  // namespace ukemi::runtime
