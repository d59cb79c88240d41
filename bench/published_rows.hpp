// published_rows.hpp — results that others published beside what the simulator says, as tables for
// people and as one CSV for papers.
//
// Every row has a role. `input`: the simulation was given it. `fitted`: numbers of the model were
// chosen so that it comes out. `predicted`: neither; only these say anything about the model.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace published {

struct Row {
    std::string name;
    double published = 0;
    double simulated = 0;
    std::string role;
    double error() const { return simulated / published - 1; }
};

class Tables {
public:
    // Prints the title, the rows (if `each`) and the mean error of each role, and keeps the rows.
    void add(const std::string& title, const std::string& table, const std::vector<Row>& rows,
             bool each = true);
    // Columns table, row, published, simulated, error, role.
    void write_csv(const std::filesystem::path& file) const;

private:
    struct Kept {
        std::string table;
        Row row;
    };
    std::vector<Kept> kept_;
};

double mean_error(const std::vector<Row>& rows, std::string_view role);  // of |error|; 0 for none

// Where the recorded data is: beside the checkout (../shared/data), or UKEMI_DATA.
std::filesystem::path shared(const std::filesystem::path& name);

struct Options {
    bool all = false;
    std::optional<std::filesystem::path> csv;
};
// [all] [--csv FILE]; says what is wrong and ends the program with 2 otherwise.
Options read_options(int argc, char** argv);

}  // namespace published
