#include "records/run_json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <vector>

#include "base/csv_writer.hpp"
#include "records/json_fields.hpp"
#include "records/run_columns.hpp"
#include "records/varied_columns.hpp"

namespace ukemi::records {

namespace {

void add_real_field(CsvWriter& csv, double value) {
    if (std::isfinite(value)) {
        csv.add(value);
    } else {
        csv.add(std::string_view(real_json(value).get<std::string>()));
    }
}

void add_run_value(CsvWriter& csv, const RunValue& value) {
    std::visit(
        [&](const auto& held) {
            using Held = std::decay_t<decltype(held)>;
            if constexpr (std::is_same_v<Held, bool>) {
                csv.add(std::string_view(held ? "true" : "false"));
            } else if constexpr (std::is_same_v<Held, std::monostate>) {
                csv.add(std::string_view{});
            } else if constexpr (std::is_same_v<Held, std::string>) {
                csv.add(std::string_view(held));
            } else if constexpr (std::is_same_v<Held, double>) {
                add_real_field(csv, held);
            } else {
                csv.add(held);
            }
        },
        value);
}

}  // namespace

nlohmann::ordered_json run_value_json(const RunValue& value) {
    return std::visit(
        [](const auto& held) -> nlohmann::ordered_json {
            using Held = std::decay_t<decltype(held)>;
            if constexpr (std::is_same_v<Held, std::monostate>) {
                return nullptr;
            } else if constexpr (std::is_same_v<Held, double>) {
                return real_json(held);
            } else {
                return held;
            }
        },
        value);
}

std::string runs_json(std::span<const RunResult> runs, std::span<const std::string> warnings) {
    using nlohmann::ordered_json;
    const VariedColumns varied(runs);
    ordered_json list = ordered_json::array();
    for (const RunResult& run : runs) {
        ordered_json object;
        std::size_t number = 0;
        for (const RunColumn& column : run_columns()) {
            if (number++ == columns_that_name) varied.add_fields(object, run.varied);
            object[column.name] = run_value_json(column.of(run));
        }
        for (const VariedValue& one : run.varied) object["varied"][one.pointer] = one.value;
        list.push_back(std::move(object));
    }
    ordered_json document;
    document["runs"] = std::move(list);
    document["warnings"] = ordered_json::array();
    for (const std::string& one : warnings) document["warnings"].push_back(one);
    // Names of files need not be UTF-8; what is not is shown as the replacement character.
    return document.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string runs_csv(std::span<const RunResult> runs) {
    const VariedColumns varied(runs);
    std::vector<std::string> names;
    for (const RunColumn& column : run_columns()) {
        if (names.size() == columns_that_name) varied.add_names(names);
        names.push_back(column.name);
    }
    CsvWriter csv(names);
    for (const RunResult& run : runs) {
        std::size_t number = 0;
        for (const RunColumn& column : run_columns()) {
            if (number++ == columns_that_name) varied.add_fields(csv, run.varied);
            add_run_value(csv, column.of(run));
        }
        csv.end_row();
    }
    return csv.text();
}

}  // namespace ukemi::records
