"""Tables, as data frames read them."""

from __future__ import annotations

import unittest
from typing import Any

import gpucast
from support import needed


def table() -> gpucast.Table:
    return gpucast.Table(["name", "time_ms"], [["a", 1.5], ["b", None], [None, 3.0]])


class Tables(unittest.TestCase):
    def test_cells_are_texts_numbers_and_none(self) -> None:
        self.assertEqual(table().to_dict(), {"name": ["a", "b", None], "time_ms": [1.5, None, 3.0]})
        self.assertEqual(table().csv(), "name,time_ms\na,1.5\nb,\n,3\n")
        self.assertEqual(gpucast.Table(["a"], []).to_dict(), {"a": []})
        self.assertIn("<td>1.5</td>", table()._repr_html_())
        with self.assertRaises(ValueError):
            gpucast.Table(["a", "b"], [["x"]])

    def test_csv_becomes_numbers_where_a_column_has_nothing_else(self) -> None:
        read = gpucast.Table.of_csv("a,b,c\n1,x,\n2.5,7,\n")
        self.assertEqual(read.rows(), [[1.0, "x", None], [2.5, "7", None]])

    def test_the_stream_is_a_capsule_of_its_name(self) -> None:
        self.assertIn("arrow_array_stream", repr(table().__arrow_c_stream__()))

    def test_polars_reads_it(self) -> None:
        polars: Any = needed("polars")
        frame = polars.DataFrame(table())
        self.assertEqual(frame["time_ms"].to_list(), [1.5, None, 3.0])
        self.assertEqual(frame["name"].to_list(), ["a", "b", None])

    def test_pyarrow_and_pandas_read_it(self) -> None:
        pyarrow: Any = needed("pyarrow")
        read = pyarrow.table(table())
        self.assertEqual(read.column("time_ms").to_pylist(), [1.5, None, 3.0])
        pandas: Any = needed("pandas")
        frame = pandas.DataFrame.from_arrow(table())
        self.assertEqual(list(frame.columns), ["name", "time_ms"])
        self.assertEqual(frame["time_ms"].sum(), 4.5)


if __name__ == "__main__":
    unittest.main()
