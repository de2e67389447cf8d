// The values of a warp's lanes, as the record tells them and as people read them.

import type { Bits, LaneValues } from "./engine/answers";

/** The value of a lane; `null` for one that has none. Lanes are those of the mask. */
export function ofLane(values: LaneValues, lane: number, mask: number): bigint | null {
  if (((mask >>> lane) & 1) === 0 || values === null) return null;
  if (!Array.isArray(values)) return BigInt(values);
  if (values.length === 2) {
    const [from, stride] = values as [Bits, number];
    const first = 31 - Math.clz32(mask & -mask);
    return BigInt(from) + BigInt(stride) * BigInt(lane - first);
  }
  const value = values[lane];
  return value === null || value === undefined ? null : BigInt(value);
}

const room = new DataView(new ArrayBuffer(8));

/** Bits of a type as a person writes them. */
export function written(bits: bigint, type: string, isHexadecimal: boolean): string {
  if (type === "pred") return bits ? "true" : "false";
  if (isHexadecimal) return `0x${bits.toString(16)}`;
  const width = Number(/\d+/.exec(type)?.[0] ?? 32);
  if (type === "f32") {
    room.setUint32(0, Number(BigInt.asUintN(32, bits)));
    return real(room.getFloat32(0), 7);
  }
  if (type === "f64") {
    room.setBigUint64(0, BigInt.asUintN(64, bits));
    return real(room.getFloat64(0), 10);
  }
  if (type.startsWith("s")) return BigInt.asIntN(width, bits).toString();
  if (type.startsWith("u")) return bits.toString();
  // Registers of bits hold anything. Small numbers and small negative ones are told as such.
  const signed = BigInt.asIntN(Math.min(width, 64), bits);
  return signed > -65_536n && signed < 1n << 31n ? signed.toString() : `0x${bits.toString(16)}`;
}

function real(value: number, digits: number): string {
  return Number.isInteger(value) && Math.abs(value) < 1e7 ? value.toFixed(1) : String(Number(value.toPrecision(digits)));
}
