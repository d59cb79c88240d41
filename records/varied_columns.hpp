// varied_columns.hpp — the columns of tables for the keys in which runs differ.
//
// A column is called after the key's JSON pointer, "/job/restart" is `job_restart…`; a key at the
// top of the document has `scenario_` before it, so that it is not taken for another column. Where
// every value is a number, or an amount in units of one kind, the column holds numbers, and the
// unit ends its name: "2 min" and "600 s" are 120 and 600 of `job_restart_s`. All else stays text,
// as it was given. The same keys have the same columns in every file, so that tables join.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/csv_writer.hpp"
#include "records/run_result.hpp"

namespace ukemi::records {

// "/job/deadline=60h, /job/restart=0 s"; empty for what is no variant.
std::string variant_label(std::span<const VariedValue> varied);
// The same with its keys in order, whatever order they were typed in.
std::string variant_key(std::span<const VariedValue> varied);

// A value that was given as text: a number, or an amount with its unit.
struct VariedAmount {
    double value = 0;
    std::string unit;  // as it ends a column's name, "_s", "_usd_per_h"; empty for a plain number
};
std::optional<VariedAmount> varied_amount(const std::string& given);
// "/job/restart" and "_s": "job_restart_s".
std::string varied_column_name(std::string_view pointer, std::string_view unit);

struct VariedColumn {
    std::string pointer;
    std::string name;
    std::map<std::string, double> numbers;  // by the values as given; empty: they stay text
};

class VariedColumns {
public:
    // Of rows with a list `varied` each, of the same pointers.
    template <class Row>
    explicit VariedColumns(std::span<const Row> rows) {
        for (const Row& row : rows) add(row.varied);
        settle();
    }

    void add_names(std::vector<std::string>& names) const;
    // The fields of one row; empty for keys that it does not have.
    void add_fields(CsvWriter& csv, std::span<const VariedValue> varied) const;
    void add_fields(nlohmann::ordered_json& row, std::span<const VariedValue> varied) const;

private:
    void add(std::span<const VariedValue> varied);
    void settle();

    std::vector<VariedColumn> columns_;
    std::vector<std::set<std::string>> values_;  // of each column
};

}  // namespace ukemi::records
